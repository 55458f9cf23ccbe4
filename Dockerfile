# Pinned by digest, so that what is built does not change by itself. The digest stands beside this very tag in stored copies of
# public build files; no registry could be asked here, and the tag occurs with another digest, too. To look, and to refresh:
# docker buildx imagetools inspect python:3.11.15-slim
FROM python:3.11.15-slim@sha256:90744cff8f32887f075c47d747a173ff333e9e98801667af93c357fa9f5e28ff

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=/opt/kgcheck

COPY requirements/run.txt /tmp/run.txt
RUN pip install --no-cache-dir --require-hashes --only-binary :all: -r /tmp/run.txt && rm /tmp/run.txt

# As in a checkout, the data folders lie beside the package: nothing is built, so no build tool is fetched unpinned.
COPY LICENSE /opt/kgcheck/
COPY cypher /opt/kgcheck/cypher
COPY loaders /opt/kgcheck/loaders
COPY corpus /opt/kgcheck/corpus
COPY kgcheck /opt/kgcheck/kgcheck

# A named volume takes the owner of the folder that it covers.
RUN useradd --create-home --uid 10001 kgcheck && install -d -o kgcheck -g kgcheck /work /work/.kgcheck
USER kgcheck
WORKDIR /work

ENTRYPOINT ["python", "-m", "kgcheck"]
CMD ["--help"]
