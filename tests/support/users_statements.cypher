// Statements that a user of the graph would send, written from its schema by somebody who had not seen the reader.
MATCH (p:Protein {id: 'P04637'}) RETURN p
MATCH (p:Protein {id: 'P00533'}) RETURN p.name, p.accession, p.description, p.synonyms, p.taxid
MATCH (d:Disease {id: 'DOID:4467'}) RETURN d.name, d.description
MATCH (d:Disease) WHERE toLower(d.name) = 'breast cancer' RETURN d.id, d.name
MATCH (g:Gene {id: 'BRCA1'}) RETURN g.name, g.family, g.synonyms
MATCH (t:Tissue {name: 'liver'}) RETURN t.id, t.description, t.synonyms
MATCH (bp:Biological_process {id: 'GO:0006915'}) RETURN bp.name, bp.description
MATCH (mf:Molecular_function) WHERE mf.name = 'ATP binding' RETURN mf.id
MATCH (cc:Cellular_component {id: 'GO:0005634'}) RETURN cc.name AS component, cc.synonyms AS synonyms
MATCH (m:Modification {id: 'MOD:00046'}) RETURN m.id, m.name, m.description
MATCH (pw:Pathway {id: 'R-HSA-109581'}) RETURN pw.name, pw.source, pw.linkout
MATCH (s:Protein_structure {id: '2YDQ'}) RETURN s.id, s.source, s.link
MATCH (s:Amino_acid_sequence {id: 'P04637'}) RETURN s.header, s.sequence, s.size
MATCH (mp:Modified_protein {id: 'O60502_S364-p'}) RETURN mp.protein, mp.residue, mp.position, mp.sequence_window
MATCH (p:Protein) WHERE p.name = 'EGFR' AND p.taxid = '9606' RETURN p.id, p.description
MATCH (g:Gene {id: 'TP53'})-[:TRANSLATED_INTO]->(p:Protein) RETURN p.id, p.name
MATCH (g:Gene)-[r:TRANSLATED_INTO]->(p:Protein {id: 'P38398'}) RETURN g.id, g.name, r.source
MATCH (p:Protein {id: 'P69905'})-[:HAS_STRUCTURE]->(s:Protein_structure) RETURN s.id, s.link ORDER BY s.id
MATCH (p:Protein {id: 'P01308'})-[:HAS_SEQUENCE]->(s:Amino_acid_sequence) RETURN s.sequence, s.size
MATCH (p:Protein {id: 'P04637'})-[r:ASSOCIATED_WITH]->(d:Disease) RETURN d.id, d.name, r.score ORDER BY r.score DESC LIMIT 10
MATCH (p:Protein {name: 'CFTR'})-[:ASSOCIATED_WITH]->(cc:Cellular_component) RETURN DISTINCT cc.id, cc.name
MATCH (p:Protein {name: 'KRAS'})-[:ASSOCIATED_WITH]->(mf:Molecular_function) RETURN mf.name
MATCH (p:Protein {id: 'P42574'})-[r:ASSOCIATED_WITH]->(bp:Biological_process) RETURN bp.id, bp.name, r.evidence_type, r.source
MATCH (p:Protein)-[r:ASSOCIATED_WITH]->(t:Tissue {name: 'brain'}) WHERE r.score >= 4 RETURN p.name, r.score ORDER BY r.score DESC, p.name SKIP 20 LIMIT 20
MATCH (p:Protein {id: 'P31749'})-[r:CURATED_INTERACTS_WITH]-(q:Protein) RETURN q.id, q.name, r.interaction_type, r.method, r.publications
MATCH (p:Protein {id: 'Q00987'})-[r:ACTS_ON]->(q:Protein) RETURN q.name, r.action, r.directionality, r.score ORDER BY r.score DESC
MATCH (p:Protein {name: 'MTOR'})-[:ANNOTATED_IN_PATHWAY]->(pw:Pathway) WHERE pw.organism = '9606' RETURN pw.id, pw.name
MATCH (p:Protein)-[:ANNOTATED_IN_PATHWAY]->(pw:Pathway {name: 'Apoptosis'}) RETURN p.id, p.name LIMIT 50
MATCH (p:Protein {id: 'P06400'})-[:HAS_MODIFIED_SITE]->(s:Modified_protein) RETURN s.id, s.residue, s.position ORDER BY s.position
MATCH (s:Modified_protein {id: 'P04637_S15-p'})-[r:IS_SUBSTRATE_OF]->(k:Protein) RETURN k.id, k.name, r.regulation, r.score
MATCH (s:Modified_protein)-[:HAS_MODIFICATION]->(m:Modification {name: 'O-phospho-L-serine'}) RETURN count(s) AS sites
MATCH (d:Disease {name: 'diabetes mellitus'})-[:HAS_PARENT]->(parent:Disease) RETURN parent.id, parent.name
MATCH (child:Disease)-[:HAS_PARENT]->(d:Disease {id: 'DOID:162'}) RETURN child.id, child.name ORDER BY child.name
MATCH (g:Gene {id: 'PIK3CA'})-[:TRANSLATED_INTO]->(p:Protein)-[r:ASSOCIATED_WITH]->(d:Disease) RETURN p.id, d.name, r.score ORDER BY r.score DESC LIMIT 25
MATCH (p:Protein)-[:HAS_MODIFIED_SITE]->(s:Modified_protein)-[:IS_SUBSTRATE_OF]->(k:Protein {name: 'CDK1'}) RETURN p.name AS substrate, s.residue + toString(s.position) AS site ORDER BY substrate
MATCH (k:Protein {name: 'ATM'})<-[:IS_SUBSTRATE_OF]-(s:Modified_protein)<-[:HAS_MODIFIED_SITE]-(p:Protein) RETURN DISTINCT p.id, p.name
MATCH (p:Protein {id: 'P10636'})-[:HAS_MODIFIED_SITE]->(s)-[:HAS_MODIFICATION]->(m:Modification) RETURN m.name, count(s) AS n, collect(s.position) AS positions ORDER BY n DESC
MATCH (a:Protein {name: 'BRCA1'})-[:ANNOTATED_IN_PATHWAY]->(pw:Pathway)<-[:ANNOTATED_IN_PATHWAY]-(b:Protein {name: 'BRCA2'}) RETURN DISTINCT pw.id, pw.name
MATCH (a:Protein {id: 'P04637'})-[:CURATED_INTERACTS_WITH]-(x:Protein)-[:CURATED_INTERACTS_WITH]-(b:Protein {id: 'Q13315'}) RETURN DISTINCT x.id, x.name
MATCH (a:Protein {name: 'SNCA'})-[:ASSOCIATED_WITH]->(d:Disease)<-[:ASSOCIATED_WITH]-(b:Protein {name: 'LRRK2'}) RETURN d.id, d.name
MATCH (d1:Disease {name: 'Alzheimer\'s disease'})<-[r:ASSOCIATED_WITH]-(p:Protein) RETURN p.name, r.score ORDER BY r.score DESC LIMIT 15
MATCH (d:Disease {name: "Parkinson's disease"})<-[r:ASSOCIATED_WITH]-(p:Protein) WHERE r.score > 3 RETURN p.id, p.name, r.score, r.number_publications ORDER BY r.score DESC
MATCH (d1:Disease {name: "Alzheimer's disease"})<-[:ASSOCIATED_WITH]-(p:Protein)-[:ASSOCIATED_WITH]->(d2:Disease {name: 'type 2 diabetes mellitus'}) RETURN p.id, p.name
MATCH (p:Protein {id: 'P15056'}) OPTIONAL MATCH (p)-[:HAS_STRUCTURE]->(s:Protein_structure) RETURN p.name, count(s) AS structures
MATCH (p:Protein {name: 'APOE'}) OPTIONAL MATCH (p)-[:HAS_SEQUENCE]->(s) OPTIONAL MATCH (p)<-[:TRANSLATED_INTO]-(g:Gene) RETURN p.id, p.description, s.size AS length, g.id AS gene
MATCH (p:Protein) WHERE p.id IN ['P04637', 'P38398', 'P51587'] OPTIONAL MATCH (p)-[r:ASSOCIATED_WITH]->(t:Tissue) WHERE r.score > 4 RETURN p.name, collect(t.name) AS tissues
MATCH (g:Gene {id: 'HTT'}) OPTIONAL MATCH (g)-[:TRANSLATED_INTO]->(p:Protein) OPTIONAL MATCH (p)-[:ASSOCIATED_WITH]->(d:Disease) RETURN g.name, p.id, collect(DISTINCT d.name)[0..5] AS diseases
MATCH (pw:Pathway) WHERE pw.name CONTAINS 'glycolysis' OR pw.name CONTAINS 'Glycolysis' RETURN pw.id, pw.name, pw.organism
MATCH (d:Disease) WHERE d.name STARTS WITH 'acute myeloid' RETURN d.id, d.name
MATCH (d:Disease) WHERE d.name ENDS WITH 'lymphoma' RETURN d.id, d.name ORDER BY d.name LIMIT 100
MATCH (d:Disease) WHERE d.name =~ '(?i).*glioblastoma.*' RETURN d.id, d.name
MATCH (p:Protein) WHERE p.name =~ 'CDK[0-9]+' AND p.taxid = '9606' RETURN p.id, p.name ORDER BY p.name
MATCH (g:Gene) WHERE g.id STARTS WITH 'SLC6A' RETURN g.id, g.name ORDER BY g.id
MATCH (g:Gene) WHERE g.family CONTAINS 'interleukin' AND NOT g.name CONTAINS 'receptor' RETURN g.id, g.name, g.family
MATCH (p:Protein) WHERE 'HER2' IN p.synonyms RETURN p.id, p.name, p.synonyms
MATCH (g:Gene) WHERE any(s IN g.synonyms WHERE s CONTAINS 'p53') RETURN g.id, g.synonyms
MATCH (t:Tissue) WHERE toLower(t.name) CONTAINS 'cortex' RETURN t.id, t.name
MATCH (p:Protein) WHERE p.description CONTAINS 'kinase' AND NOT p.description STARTS WITH 'Putative' RETURN p.id, p.name, p.description LIMIT 30
MATCH (p:Protein) WHERE p.name IN ['TNF', 'IL6', 'IL1B', 'CXCL8'] AND p.taxid = '9606' RETURN p.id, p.name, p.description
MATCH (p:Protein) WHERE p.description IS NULL RETURN p.id, p.name LIMIT 100
MATCH (d:Disease) WHERE d.description IS NOT NULL AND d.description CONTAINS 'autosomal recessive' RETURN d.id, d.name LIMIT 40
MATCH (n:Protein) RETURN count(n) AS proteins
MATCH (n) RETURN labels(n)[0] AS label, count(*) AS n ORDER BY n DESC
MATCH ()-[r]->() RETURN type(r) AS relation, count(r) AS n ORDER BY n DESC
MATCH (p:Protein) RETURN p.taxid AS species, count(*) AS n ORDER BY n DESC LIMIT 10
MATCH (pw:Pathway) RETURN pw.source, count(pw) AS pathways
MATCH (p:Protein)-[r:ASSOCIATED_WITH]->(d:Disease) RETURN r.source, count(*) AS n, avg(r.score) AS mean_score, min(r.score) AS lowest, max(r.score) AS highest
MATCH (p:Protein)-[:ASSOCIATED_WITH]->(d:Disease) RETURN d.name, count(DISTINCT p) AS proteins ORDER BY proteins DESC LIMIT 20
MATCH (p:Protein)-[:HAS_STRUCTURE]->(s:Protein_structure) RETURN p.id, p.name, count(s) AS n ORDER BY n DESC LIMIT 10
MATCH (p:Protein)-[:ANNOTATED_IN_PATHWAY]->(pw:Pathway) WITH pw, count(DISTINCT p) AS size WHERE size > 100 RETURN pw.id, pw.name, size ORDER BY size DESC
MATCH (s:Amino_acid_sequence) RETURN avg(s.size) AS mean_length, min(s.size) AS shortest, max(s.size) AS longest
MATCH (p:Protein)-[:HAS_SEQUENCE]->(s:Amino_acid_sequence) WHERE s.size < 60 RETURN p.id, p.name, s.size ORDER BY s.size ASC LIMIT 25
MATCH (s:Modified_protein) RETURN s.residue AS residue, count(*) AS sites ORDER BY sites DESC
MATCH (k:Protein)<-[r:IS_SUBSTRATE_OF]-(s:Modified_protein) RETURN k.name AS kinase, count(s) AS substrates ORDER BY substrates DESC LIMIT 10
MATCH (p:Protein)-[r:CURATED_INTERACTS_WITH]-(q:Protein) WITH p, count(DISTINCT q) AS degree ORDER BY degree DESC LIMIT 20 RETURN p.id, p.name, degree
MATCH (a:Protein)-[r:CURATED_INTERACTS_WITH]->(b:Protein) WHERE a.id = b.id RETURN a.id, a.name, r.method LIMIT 25
MATCH (p:Protein)-[r:CURATED_INTERACTS_WITH]-(q:Protein) WHERE p.name = 'GRB2' AND r.score >= 0.6 RETURN q.name, max(r.score) AS score ORDER BY score DESC
MATCH (p:Protein)-[r:ACTS_ON]-(q:Protein) WHERE p.name = 'JAK2' AND r.action = 'activation' AND r.score > 0.9 RETURN DISTINCT q.id, q.name, r.score
MATCH (p:Protein)-[r:ACTS_ON]->(q:Protein) RETURN r.action, count(*) AS n, avg(r.score) AS mean ORDER BY n DESC
MATCH (p:Protein {id: 'P04637'})-[r:ACTS_ON]-(q:Protein) WHERE r.action IN ['inhibition', 'binding', 'ptmod'] RETURN r.action AS action, collect(DISTINCT q.name) AS partners
MATCH (d:Disease {id: 'DOID:1612'})-[:HAS_PARENT*]->(a:Disease) RETURN DISTINCT a.id, a.name
MATCH (c:Disease)-[:HAS_PARENT*1..3]->(d:Disease {name: 'cardiovascular system disease'}) RETURN DISTINCT c.id, c.name ORDER BY c.name
MATCH path = (d:Disease {name: 'melanoma'})-[:HAS_PARENT*]->(root:Disease) WHERE NOT (root)-[:HAS_PARENT]->() RETURN [n IN nodes(path) | n.name] AS lineage, length(path) AS depth
MATCH p = (bp:Biological_process {id: 'GO:0097193'})-[:HAS_PARENT*1..4]->(a:Biological_process) RETURN a.id, a.name, length(p) AS distance ORDER BY distance
MATCH (c:Cellular_component)-[:HAS_PARENT*0..2]->(:Cellular_component {name: 'mitochondrion'}) WITH DISTINCT c MATCH (p:Protein)-[:ASSOCIATED_WITH]->(c) RETURN c.name, count(DISTINCT p) AS proteins ORDER BY proteins DESC
MATCH (p:Protein)-[:ASSOCIATED_WITH]->(:Disease)-[:HAS_PARENT*0..5]->(d:Disease {name: 'leukemia'}) RETURN DISTINCT p.id, p.name LIMIT 50
MATCH (t:Tissue)-[:HAS_PARENT*1..2]->(:Tissue {name: 'brain'}) RETURN DISTINCT t.id, t.name
MATCH path = shortestPath((a:Protein {name: 'EGFR'})-[:CURATED_INTERACTS_WITH*..4]-(b:Protein {name: 'MAPK1'})) RETURN [n IN nodes(path) | n.name] AS chain, length(path) AS steps
MATCH path = (a:Protein {id: 'P00533'})-[:CURATED_INTERACTS_WITH*1..2]-(b:Protein {id: 'P01112'}) RETURN [x IN nodes(path) | x.id] AS ids, [r IN relationships(path) | r.score] AS scores LIMIT 10
MATCH (m:Modification {name: 'phosphorylated residue'})<-[:HAS_PARENT*1..3]-(c:Modification) RETURN DISTINCT c.id, c.name
MATCH (d1:Disease {name: 'breast cancer'})-[:HAS_PARENT*1..]->(a:Disease)<-[:HAS_PARENT*1..]-(d2:Disease {name: 'ovarian cancer'}) RETURN DISTINCT a.id, a.name
UNWIND ['P04637', 'P00533', 'P01112'] AS acc MATCH (p:Protein {id: acc}) RETURN acc, p.name, p.description
UNWIND ['TP53', 'EGFR', 'KRAS', 'MYC'] AS symbol OPTIONAL MATCH (g:Gene {id: symbol})-[:TRANSLATED_INTO]->(p:Protein) RETURN symbol, collect(p.id) AS accessions
WITH ['MLH1', 'MSH2', 'MSH6', 'PMS2'] AS genes MATCH (g:Gene)-[:TRANSLATED_INTO]->(p)-[:ANNOTATED_IN_PATHWAY]->(pw:Pathway) WHERE g.id IN genes WITH pw, count(DISTINCT g) AS hits WHERE hits >= 2 RETURN pw.name, hits ORDER BY hits DESC
UNWIND [{name: 'asthma'}, {name: 'psoriasis'}] AS row MATCH (d:Disease {name: row.name})<-[r:ASSOCIATED_WITH]-(p:Protein) RETURN row.name AS disease, count(p) AS proteins, max(r.score) AS best
WITH 'insulin receptor' AS term MATCH (p:Protein) WHERE toLower(p.description) CONTAINS term RETURN p.id, p.name, p.description LIMIT 10
WITH toLower(trim('  Cystic Fibrosis ')) AS q MATCH (d:Disease) WHERE toLower(d.name) = q RETURN d.id, d.name
MATCH (d:Disease) WHERE toLower(d.name) = 'rheumatoid arthritis' OR any(s IN d.synonyms WHERE toLower(s) = 'rheumatoid arthritis') RETURN d.id, d.name, d.synonyms
MATCH (p:Protein {id: 'P68871'})-[:HAS_SEQUENCE]->(s:Amino_acid_sequence) RETURN substring(s.sequence, 0, 20) AS n_terminus, right(s.sequence, 10) AS c_terminus
MATCH (p:Protein {id: 'P01308'})-[:HAS_SEQUENCE]->(s) RETURN p.name, s.size, size(s.sequence) - size(replace(s.sequence, 'C', '')) AS cysteines
MATCH (s:Modified_protein {protein: 'P04637'}) RETURN split(s.id, '_')[1] AS site, s.sequence_window ORDER BY s.position
MATCH (d:Disease) WHERE d.id IN ['DOID:1324', 'DOID:9256'] RETURN replace(d.id, 'DOID:', '') AS number, toUpper(d.name) AS name
MATCH (p:Protein) WHERE p.accession ENDS WITH '_HUMAN' AND split(p.accession, '_')[0] = 'P53' RETURN p.id, p.name
MATCH (s:Amino_acid_sequence) WHERE s.sequence CONTAINS 'KDEL' RETURN s.id, s.size LIMIT 20
MATCH (s:Amino_acid_sequence) WHERE s.sequence =~ '.*KDEL$' OR s.sequence =~ '.*HDEL$' RETURN s.id, s.header
MATCH (p:Protein {name: 'VHL'}) RETURN coalesce(p.description, p.name, p.id) AS label, coalesce(p.taxid, 'unknown') AS species
MATCH (d:Disease {id: 'DOID:10652'}) RETURN d.id, coalesce(d.description, 'no definition') AS definition, size(coalesce(d.synonyms, [])) AS n_synonyms
MATCH (p:Protein {name: 'PTEN'})-[r:ASSOCIATED_WITH]->(d:Disease) RETURN d.name, CASE WHEN r.score >= 4 THEN 'high' WHEN r.score >= 2 THEN 'medium' ELSE 'low' END AS confidence ORDER BY r.score DESC
MATCH (s:Modified_protein {protein: 'P31749'}) RETURN s.position, CASE s.residue WHEN 'S' THEN 'serine' WHEN 'T' THEN 'threonine' WHEN 'Y' THEN 'tyrosine' ELSE s.residue END AS residue ORDER BY s.position
MATCH (p:Protein)-[r:ASSOCIATED_WITH]->(d:Disease {name: 'hypertension'}) RETURN sum(CASE WHEN r.score > 3 THEN 1 ELSE 0 END) AS strong, count(*) AS total
MATCH (p:Protein {name: 'STAT3'})-[:ASSOCIATED_WITH]->(bp:Biological_process) RETURN p.id, size(collect(DISTINCT bp)) AS processes
MATCH (d:Disease {name: 'colorectal cancer'})<-[:ASSOCIATED_WITH]-(p:Protein) WITH d, collect(DISTINCT p.name) AS names RETURN d.id, size(names) AS n, names[0..10] AS first_ten
MATCH (p:Protein)-[:ASSOCIATED_WITH]->(:Molecular_function {name: 'protein kinase activity'}) WHERE NOT (p)-[:HAS_STRUCTURE]->(:Protein_structure) RETURN p.id, p.name LIMIT 30
MATCH (p:Protein) WHERE (p)-[:ASSOCIATED_WITH]->(:Cellular_component {name: 'plasma membrane'}) AND (p)-[:ASSOCIATED_WITH]->(:Disease {name: 'lung cancer'}) RETURN p.id, p.name LIMIT 25
MATCH (p:Protein {taxid: '9606'}) WHERE EXISTS { MATCH (p)-[:HAS_MODIFIED_SITE]->(s:Modified_protein) WHERE s.residue = 'Y' } RETURN count(p) AS proteins_with_modified_tyrosine
MATCH (g:Gene) WHERE NOT EXISTS { (g)-[:TRANSLATED_INTO]->(:Protein) } RETURN g.id, g.name ORDER BY g.id LIMIT 50
MATCH (d:Disease) WHERE NOT (d)<-[:HAS_PARENT]-(:Disease) AND NOT (d)<-[:ASSOCIATED_WITH]-(:Protein) RETURN count(d) AS leaves_without_proteins
MATCH (p:Protein) WHERE exists((p)-[:ANNOTATED_IN_PATHWAY]->(:Pathway {id: 'R-HSA-109581'})) RETURN p.name ORDER BY p.name
MATCH (p:Protein {id: 'P04626'}) RETURN p.name, [(p)-[:ASSOCIATED_WITH]->(t:Tissue) | t.name] AS tissues, [(p)-[:HAS_STRUCTURE]->(s) | s.id] AS structures
MATCH (p:Protein {name: 'GFAP'}) RETURN p {.id, .name, .description, .taxid} AS protein
MATCH (p:Protein {id: 'P35222'})-[r:ASSOCIATED_WITH]->(d:Disease) WITH p, collect(d {.id, .name, score: r.score}) AS diseases RETURN p {.id, .name, diseases: diseases} AS record
MATCH (d:Disease {id: 'DOID:1826'}) RETURN d {.*, parents: [(d)-[:HAS_PARENT]->(x) | x.name]} AS disease
MATCH (p:Protein {id: 'P05067'}) RETURN [s IN p.synonyms WHERE size(s) < 10 | toUpper(s)] AS short_synonyms
MATCH (p:Protein {name: 'ACE2'})-[:ASSOCIATED_WITH]->(t:Tissue) RETURN t.name AS name, 'tissue' AS kind UNION MATCH (p:Protein {name: 'ACE2'})-[:ASSOCIATED_WITH]->(d:Disease) RETURN d.name AS name, 'disease' AS kind
MATCH (g:Gene) WHERE toLower(g.name) CONTAINS 'hemoglobin' RETURN g.id AS id, g.name AS name UNION MATCH (p:Protein) WHERE toLower(p.description) CONTAINS 'hemoglobin' RETURN p.id AS id, p.description AS name
MATCH (p:Protein) RETURN 'Protein' AS label, count(p) AS n UNION ALL MATCH (g:Gene) RETURN 'Gene' AS label, count(g) AS n UNION ALL MATCH (d:Disease) RETURN 'Disease' AS label, count(d) AS n
MATCH (p:Protein {name: 'SOD1'})-[r:ASSOCIATED_WITH]->(x) WHERE x:Tissue OR x:Cellular_component RETURN labels(x) AS kind, x.name, r.score
MATCH (p:Protein {id: 'P37840'})-[r]-(n) RETURN type(r) AS relation, labels(n) AS neighbour, count(*) AS n ORDER BY n DESC
MATCH (p:Protein {id: 'P04637'})-[:CURATED_INTERACTS_WITH|ACTS_ON]-(q:Protein) RETURN DISTINCT q.id, q.name ORDER BY q.name LIMIT 100
MATCH (a:Protein)-[r:CURATED_INTERACTS_WITH]-(b:Protein) WHERE a.name IN ['RAD51', 'BRCA2', 'PALB2'] AND b.name IN ['RAD51', 'BRCA2', 'PALB2'] AND a.id < b.id RETURN a.name, b.name, r.score, r.method
MATCH (p:Protein {name: 'NOTCH1'})-[:ANNOTATED_IN_PATHWAY]->(pw)<-[:ANNOTATED_IN_PATHWAY]-(q:Protein) WHERE p <> q WITH q, count(DISTINCT pw) AS shared ORDER BY shared DESC LIMIT 10 RETURN q.id, q.name, shared
MATCH (d:Disease {name: 'multiple sclerosis'})<-[:ASSOCIATED_WITH]-(p:Protein)-[:ASSOCIATED_WITH]->(o:Disease) WHERE o <> d WITH o, count(DISTINCT p) AS shared RETURN o.id, o.name, shared ORDER BY shared DESC LIMIT 15
MATCH (p:Protein)-[r:ASSOCIATED_WITH]->(d:Disease {name: 'amyotrophic lateral sclerosis'}) WITH p, r ORDER BY r.score DESC LIMIT 20 MATCH (p)-[:ANNOTATED_IN_PATHWAY]->(pw:Pathway) RETURN pw.name, collect(DISTINCT p.name) AS proteins ORDER BY size(proteins) DESC
MATCH (p:Protein)-[r1:ASSOCIATED_WITH]->(t:Tissue {name: 'pancreas'}), (p)-[r2:ASSOCIATED_WITH]->(d:Disease {name: 'pancreatitis'}) WHERE r1.score > 3 AND r2.score > 1 RETURN p.name, r1.score AS tissue_score, r2.score AS disease_score
MATCH (p:Protein)-[r:ASSOCIATED_WITH]->(d:Disease {id: 'DOID:14330'}) WITH avg(r.score) AS mean MATCH (q:Protein)-[s:ASSOCIATED_WITH]->(:Disease {id: 'DOID:14330'}) WHERE s.score > mean RETURN q.name, s.score, round(mean * 100) / 100 AS average ORDER BY s.score DESC
MATCH (p:Protein)-[r:ASSOCIATED_WITH]->(t:Tissue) WHERE p.name = 'ALB' WITH t, max(r.score) AS best RETURN t.name, best ORDER BY best DESC SKIP 0 LIMIT 5
MATCH (g:Gene {id: 'LDLR'})-[:TRANSLATED_INTO]->(p:Protein)-[:CURATED_INTERACTS_WITH]-(q:Protein)<-[:TRANSLATED_INTO]-(h:Gene) RETURN DISTINCT h.id AS partner_gene, h.name
MATCH (p:Protein {name: 'CHEK2'})-[:HAS_MODIFIED_SITE]->(s:Modified_protein) OPTIONAL MATCH (s)-[r:IS_SUBSTRATE_OF]->(k:Protein) RETURN s.residue, s.position, collect(k.name) AS kinases ORDER BY s.position
MATCH (k:Protein)<-[r:IS_SUBSTRATE_OF]-(s:Modified_protein {protein: 'P06400'}) WHERE r.source = 'SIGNOR' RETURN k.name AS kinase, s.position AS position, r.regulation AS regulation
MATCH (p:Protein {id: 'P00519'})-[r:ASSOCIATED_WITH]->(mf:Molecular_function) WHERE r.evidence_type IN ['IDA', 'IMP', 'EXP'] RETURN mf.id, mf.name, collect(DISTINCT r.evidence_type) AS evidence
MATCH (p:Protein)-[r:ASSOCIATED_WITH]->(d:Disease) WHERE r.number_publications > 50 RETURN p.name, d.name, r.number_publications ORDER BY r.number_publications DESC LIMIT 20
MATCH (p:Protein)-[r:ANNOTATED_IN_PATHWAY]->(pw:Pathway) WHERE r.evidence = 'TAS' AND r.source = 'Reactome' AND pw.name CONTAINS 'Interferon' RETURN pw.name, count(DISTINCT p) AS proteins
MATCH (p:Protein)-[:ASSOCIATED_WITH]->(:Biological_process {name: 'angiogenesis'}) MATCH (p)-[:ASSOCIATED_WITH]->(:Cellular_component {name: 'extracellular space'}) RETURN DISTINCT p.id, p.name ORDER BY p.name
MATCH (p:Protein {id: 'P04637'})-[:ASSOCIATED_WITH]->(d:Disease {name: 'Li-Fraumeni syndrome'}) RETURN count(*) > 0 AS associated
MATCH (p:Protein) WHERE p.id STARTS WITH 'P04637-' RETURN p.id AS isoform ORDER BY isoform
MATCH (p:Protein)-[:HAS_SEQUENCE]->(s:Amino_acid_sequence) WHERE p.taxid = '9606' AND s.size >= 300 AND s.size <= 350 AND p.description CONTAINS 'Olfactory receptor' RETURN p.name, s.size ORDER BY p.name LIMIT 40
MATCH (t:Tissue)<-[r:ASSOCIATED_WITH]-(p:Protein) WITH t, count(DISTINCT p) AS n, avg(r.score) AS mean WHERE n >= 100 RETURN t.name, n, mean ORDER BY n DESC LIMIT 10
MATCH (p:Protein {name: 'HBB', taxid: '9606'})<-[:TRANSLATED_INTO]-(g:Gene) RETURN g.id + ': ' + g.name AS gene, p.id AS protein
MATCH (pw:Pathway) WHERE pw.source = 'SMPDB' AND toLower(pw.name) CONTAINS 'metabolism' RETURN pw.id, pw.name, left(pw.description, 200) AS summary ORDER BY pw.name LIMIT 20
MATCH (mf:Molecular_function)-[:HAS_PARENT*1..2]->(:Molecular_function {id: 'GO:0004672'}) OPTIONAL MATCH (mf)<-[:ASSOCIATED_WITH]-(p:Protein) RETURN mf.name, count(DISTINCT p) AS proteins ORDER BY proteins DESC
