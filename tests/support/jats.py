"""Articles in JATS for tests, written here: their sentences are about nothing."""

ARTICLE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving and Interchange DTD v1.3 20210610//EN" "JATS.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink" article-type="{type}"><front>
<journal-meta><journal-title-group><journal-title>A journal</journal-title></journal-title-group></journal-meta>
<article-meta>{ids}<title-group><article-title>{title}</article-title></title-group>
<pub-date pub-type="epub"><year>2014</year></pub-date>{related}
<permissions><license xlink:href="https://creativecommons.org/licenses/by/4.0/"><license-p>Open.</license-p></license>
</permissions>{abstract}</article-meta></front><body>{body}</body><back><ack><p>We thank all.</p></ack>{back}</back>
</article>"""

ABSTRACT = """<abstract><sec><title>Background</title><p>Kinase A is of interest.</p></sec>
<sec><title>Results</title><p>Kinase A binds kinase B.</p></sec></abstract>
<abstract abstract-type="toc"><p>A short word on kinases.</p></abstract>"""

BODY = """<sec sec-type="intro"><title>Introduction</title><p>Kinase A was found early
[<xref ref-type="bibr" rid="r1">1</xref>, <xref ref-type="bibr" rid="r2">2</xref>], <italic>in vivo</italic>.</p></sec>
<sec><title>2. Materials and Methods</title><p>Cells were grown.</p><sec><title>Results of staining</title>
<p>Cells were stained with dye C.<fig id="f1"><label>Figure 1.</label><caption><title>Stained cells.</title>
<p>Bar: 10 um.</p></caption></fig></p><list><list-item><p>First the dye.</p></list-item></list></sec></sec>
<sec><title>Results</title><p>Kinase A binds kinase B in yeast cells <inline-formula><tex-math>x^2</tex-math>
</inline-formula>at night.</p><table-wrap><label>Table 1</label><caption><p>Pairs of kinases.</p></caption>
<table><tr><td>17</td></tr></table></table-wrap></sec>
<sec sec-type="conclusions"><title>Discussion</title><p>Kinase A may matter.</p></sec>
<sec><title>Funding</title><p>None.</p></sec>"""

BACK = """<ref-list><ref id="r1"><label>1</label><element-citation><person-group><name><surname>Doe</surname>
<given-names>J</given-names></name></person-group><article-title>On kinases</article-title><year>1999</year>
<pub-id pub-id-type="doi">10.1234/ABC.1</pub-id><pub-id pub-id-type="pmid">77</pub-id></element-citation></ref>
<ref id="r2"><label>2</label><mixed-citation>Roe R (2001) On cells. <comment>doi:
<ext-link xlink:href="http://dx.doi.org/10.1234/xyz.2">10.1234/xyz.2</ext-link></comment></mixed-citation></ref></ref-list>"""


def article(
    doi: str = "10.5555/one",
    *,
    pmid: str = "",
    title: str = "On kinase A",
    type_: str = "research-article",
    related: str = "",
    abstract: str = ABSTRACT,
    body: str = BODY,
    back: str = BACK,
) -> str:
    ids = f'<article-id pub-id-type="doi">{doi}</article-id>' if doi else ""
    ids += f'<article-id pub-id-type="pmid">{pmid}</article-id>' if pmid else ""
    return ARTICLE.format(type=type_, ids=ids, title=title, related=related, abstract=abstract, body=body, back=back)


def related(kind: str, doi: str) -> str:
    return f'<related-article related-article-type="{kind}" ext-link-type="doi" xlink:href="{doi}"/>'
