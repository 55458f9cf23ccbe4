-- A ledger as kgcheck 0.2.0 wrote it (format 3), dumped by sqlite3.
BEGIN TRANSACTION;
CREATE TABLE compared (
	fingerprint VARCHAR NOT NULL,
	run VARCHAR NOT NULL,
	state VARCHAR NOT NULL,
	why TEXT NOT NULL,
	found_in VARCHAR NOT NULL,
	type VARCHAR NOT NULL,
	subject_label VARCHAR NOT NULL,
	relation VARCHAR,
	object_label VARCHAR,
	outcome VARCHAR NOT NULL,
	reason VARCHAR NOT NULL,
	basis VARCHAR,
	about TEXT NOT NULL,
	PRIMARY KEY (fingerprint, run),
	FOREIGN KEY(run) REFERENCES run (id)
);
INSERT INTO "compared" VALUES('e42289b058f3193c','20260102-000000-bbbb','fixed','so','20260101-000000-aaaa','existence','Protein',NULL,NULL,'refuted','id_deleted','6fbe458631f5dbcd','Protein P0');
INSERT INTO "compared" VALUES('7ed579588b0f897e','20260102-000000-bbbb','unchecked','so','20260101-000000-aaaa','existence','Protein',NULL,NULL,'refuted','id_deleted','329310a1c09a34fe','Protein P3');
CREATE TABLE comparison (
	run VARCHAR NOT NULL,
	"before" VARCHAR,
	at DATETIME NOT NULL,
	counts TEXT NOT NULL,
	PRIMARY KEY (run),
	FOREIGN KEY(run) REFERENCES run (id)
);
INSERT INTO "comparison" VALUES('20260101-000000-aaaa',NULL,'2026-11-22 03:01:00.000000','{}');
INSERT INTO "comparison" VALUES('20260102-000000-bbbb','20260101-000000-aaaa','2026-11-22 03:31:00.000000','{"new":1,"still":1,"changed":1,"fixed":1,"gone":0,"unchecked":1}');
CREATE TABLE decision (
	number INTEGER NOT NULL,
	fingerprint VARCHAR NOT NULL,
	basis VARCHAR NOT NULL,
	action VARCHAR NOT NULL,
	chosen TEXT,
	note TEXT NOT NULL,
	until DATE,
	"by" VARCHAR NOT NULL,
	at DATETIME NOT NULL,
	run VARCHAR NOT NULL,
	about TEXT NOT NULL,
	reason VARCHAR NOT NULL,
	proposed TEXT NOT NULL,
	PRIMARY KEY (number)
);
INSERT INTO "decision" VALUES(1,'0644c8cfef053829','64062ce208b80d61','defer',NULL,'later','2027-01-01','anna','2026-11-22 03:05:00.000000','20260101-000000-aaaa','Protein P1','id_deleted','');
CREATE TABLE finding (
	fingerprint VARCHAR NOT NULL,
	run VARCHAR NOT NULL,
	type VARCHAR NOT NULL,
	subject_label VARCHAR NOT NULL,
	subject_id VARCHAR NOT NULL,
	subject_name VARCHAR,
	relation VARCHAR,
	object_label VARCHAR,
	object_id VARCHAR,
	object_name VARCHAR,
	attribute VARCHAR,
	rule VARCHAR,
	value TEXT,
	outcome VARCHAR NOT NULL,
	reason VARCHAR NOT NULL,
	confidence FLOAT NOT NULL,
	note TEXT NOT NULL,
	evidence TEXT NOT NULL,
	gaps TEXT NOT NULL,
	change_kind VARCHAR,
	change_to TEXT,
	change_because TEXT,
	change_candidates TEXT NOT NULL,
	basis VARCHAR,
	carried_from VARCHAR,
	severity INTEGER NOT NULL,
	by_confidence FLOAT NOT NULL,
	by_score FLOAT NOT NULL,
	PRIMARY KEY (fingerprint, run),
	FOREIGN KEY(run) REFERENCES run (id)
);
INSERT INTO "finding" VALUES('e42289b058f3193c','20260101-000000-aaaa','existence','Protein','P0',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'refuted','id_deleted',0.99,'','[{"source":"uniprot","release":"2026_03","record":"P0","url":"","retrieved_at":"2026-01-01T00:00:00Z","pinned_at":null,"stance":"contradicts","world":"closed","tier":"owner","reason":null,"value":null,"quote":null,"score":null,"about":"fact","replacements":[],"candidates":[]}]','[]',NULL,NULL,NULL,'[]','6fbe458631f5dbcd',NULL,0,0.0,0.0);
INSERT INTO "finding" VALUES('0644c8cfef053829','20260101-000000-aaaa','existence','Protein','P1',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'refuted','id_deleted',0.99,'','[{"source":"uniprot","release":"2026_03","record":"P1","url":"","retrieved_at":"2026-01-01T00:00:00Z","pinned_at":null,"stance":"contradicts","world":"closed","tier":"owner","reason":null,"value":null,"quote":null,"score":null,"about":"fact","replacements":[],"candidates":[]}]','[]','repoint','P9','merged','["P9","P8"]','64062ce208b80d61',NULL,0,0.0,0.0);
INSERT INTO "finding" VALUES('0be8656005a4c528','20260101-000000-aaaa','existence','Protein','P2',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'refuted','id_deleted',0.99,'','[{"source":"uniprot","release":"2026_03","record":"P2","url":"","retrieved_at":"2026-01-01T00:00:00Z","pinned_at":null,"stance":"contradicts","world":"closed","tier":"owner","reason":null,"value":null,"quote":null,"score":null,"about":"fact","replacements":[],"candidates":[]}]','[]',NULL,NULL,NULL,'[]','f96fb5c0ea3079aa',NULL,0,0.0,0.0);
INSERT INTO "finding" VALUES('7ed579588b0f897e','20260101-000000-aaaa','existence','Protein','P3',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'refuted','id_deleted',0.99,'','[{"source":"uniprot","release":"2026_03","record":"P3","url":"","retrieved_at":"2026-01-01T00:00:00Z","pinned_at":null,"stance":"contradicts","world":"closed","tier":"owner","reason":null,"value":null,"quote":null,"score":null,"about":"fact","replacements":[],"candidates":[]}]','[]','repoint','P9','merged','["P9","P8"]','329310a1c09a34fe',NULL,0,0.0,0.0);
INSERT INTO "finding" VALUES('0644c8cfef053829','20260102-000000-bbbb','existence','Protein','P1',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'refuted','id_deleted',0.99,'','[{"source":"uniprot","release":"2026_03","record":"P1","url":"","retrieved_at":"2026-01-01T00:00:00Z","pinned_at":null,"stance":"contradicts","world":"closed","tier":"owner","reason":null,"value":null,"quote":null,"score":null,"about":"fact","replacements":[],"candidates":[]}]','[]',NULL,NULL,NULL,'[]','94b6d381dc21c43c',NULL,0,0.0,0.0);
INSERT INTO "finding" VALUES('0be8656005a4c528','20260102-000000-bbbb','existence','Protein','P2',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'refuted','id_deleted',0.99,'','[{"source":"uniprot","release":"2026_03","record":"P2","url":"","retrieved_at":"2026-01-01T00:00:00Z","pinned_at":null,"stance":"contradicts","world":"closed","tier":"owner","reason":null,"value":null,"quote":null,"score":null,"about":"fact","replacements":[],"candidates":[]}]','[]',NULL,NULL,NULL,'[]','f96fb5c0ea3079aa',NULL,0,0.0,0.0);
INSERT INTO "finding" VALUES('e9db078a39f121e5','20260102-000000-bbbb','existence','Protein','Q1',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'refuted','id_deleted',0.99,'','[{"source":"uniprot","release":"2026_03","record":"Q1","url":"","retrieved_at":"2026-01-01T00:00:00Z","pinned_at":null,"stance":"contradicts","world":"closed","tier":"owner","reason":null,"value":null,"quote":null,"score":null,"about":"fact","replacements":[],"candidates":[]}]','[]',NULL,NULL,NULL,'[]','19deb5d8f375164d',NULL,0,0.0,0.0);
CREATE TABLE handed_to_team (
	run VARCHAR NOT NULL,
	fingerprint VARCHAR NOT NULL,
	result VARCHAR NOT NULL,
	PRIMARY KEY (run, fingerprint),
	FOREIGN KEY(run) REFERENCES run (id)
);
INSERT INTO "handed_to_team" VALUES('20260101-000000-aaaa','e42289b058f3193c','refuted');
CREATE TABLE job_run (
	number INTEGER NOT NULL,
	job VARCHAR NOT NULL,
	state VARCHAR NOT NULL,
	planned DATETIME,
	started DATETIME NOT NULL,
	finished DATETIME,
	worker VARCHAR NOT NULL,
	lease_until DATETIME NOT NULL,
	attempt INTEGER NOT NULL,
	run VARCHAR,
	severity VARCHAR,
	message TEXT NOT NULL,
	result TEXT NOT NULL,
	PRIMARY KEY (number)
);
INSERT INTO "job_run" VALUES(1,'nightly','done','2026-11-22 03:30:00.000000','2026-11-22 03:30:00.000000','2026-11-22 03:40:00.000000','host 1 ff','2026-11-22 03:35:00.000000',1,NULL,'warn','audit','{"new":2}');
INSERT INTO "job_run" VALUES(2,'refresh','failed',NULL,'2026-11-22 03:41:00.000000','2026-11-22 03:42:00.000000','host 1 ff','2026-11-22 03:46:00.000000',1,NULL,'error','away','{"changes":{"go":3}}');
INSERT INTO "job_run" VALUES(3,'nightly','running','2026-11-22 03:50:00.000000','2026-11-22 03:50:00.000000',NULL,'host 2 ee','2026-11-22 03:55:00.000000',2,'20260102-000000-bbbb',NULL,'','{}');
CREATE TABLE job_schedule (
	job VARCHAR NOT NULL,
	schedule VARCHAR NOT NULL,
	since DATETIME NOT NULL,
	PRIMARY KEY (job)
);
INSERT INTO "job_schedule" VALUES('nightly','30 2 * * * UTC','2026-11-22 03:00:00.000000');
CREATE TABLE ledger_format (
	version_num VARCHAR(32) NOT NULL,
	PRIMARY KEY (version_num)
);
INSERT INTO "ledger_format" VALUES('3');
CREATE TABLE operation (
	patch VARCHAR NOT NULL,
	number INTEGER NOT NULL,
	kind VARCHAR NOT NULL,
	finding VARCHAR NOT NULL,
	about TEXT NOT NULL,
	state VARCHAR NOT NULL,
	why TEXT NOT NULL,
	PRIMARY KEY (patch, number),
	FOREIGN KEY(patch) REFERENCES patch (id)
);
INSERT INTO "operation" VALUES('00ff',1,'retire','0be8656005a4c528','Protein P2','open','');
CREATE TABLE patch (
	number INTEGER NOT NULL,
	id VARCHAR NOT NULL,
	store VARCHAR NOT NULL,
	profile VARCHAR NOT NULL,
	run VARCHAR NOT NULL,
	folder VARCHAR NOT NULL,
	made DATETIME NOT NULL,
	"by" VARCHAR NOT NULL,
	operations INTEGER NOT NULL,
	state VARCHAR NOT NULL,
	state_at DATETIME NOT NULL,
	state_by VARCHAR NOT NULL,
	PRIMARY KEY (number),
	UNIQUE (id)
);
INSERT INTO "patch" VALUES(1,'00ff','graph.lbdb','ckg','20260101-000000-aaaa','/p','2026-11-22 03:06:00.000000','anna',1,'made','2026-11-22 03:06:00.000000','anna');
CREATE TABLE piece (
	run VARCHAR NOT NULL,
	piece VARCHAR NOT NULL,
	digest VARCHAR NOT NULL,
	PRIMARY KEY (run, piece),
	FOREIGN KEY(run) REFERENCES run (id)
);
INSERT INTO "piece" VALUES('20260101-000000-aaaa','one','');
INSERT INTO "piece" VALUES('20260102-000000-bbbb','one','');
CREATE TABLE run (
	number INTEGER NOT NULL,
	id VARCHAR NOT NULL,
	started DATETIME NOT NULL,
	finished DATETIME,
	store VARCHAR NOT NULL,
	profile VARCHAR NOT NULL,
	reference VARCHAR,
	compared_with VARCHAR,
	warnings TEXT NOT NULL,
	options TEXT NOT NULL,
	nodes TEXT NOT NULL,
	edges TEXT NOT NULL,
	unknown TEXT NOT NULL,
	team TEXT NOT NULL,
	live TEXT NOT NULL,
	made_with TEXT,
	PRIMARY KEY (number),
	UNIQUE (id)
);
INSERT INTO "run" VALUES(1,'20260101-000000-aaaa','2026-11-22 03:00:00.000000','2026-11-24 20:41:08.000000','graph.lbdb','ckg',NULL,NULL,'[]','{}','{"Protein":1}','{}','{}','{}','{}','{}');
INSERT INTO "run" VALUES(2,'20260102-000000-bbbb','2026-11-22 03:30:00.000000','2026-11-24 20:41:08.000000','graph.lbdb','ckg',NULL,NULL,'[]','{}','{"Protein":1}','{}','{}','{}','{}','{}');
CREATE TABLE run_release (
	run VARCHAR NOT NULL,
	place INTEGER NOT NULL,
	source VARCHAR NOT NULL,
	release VARCHAR NOT NULL,
	file VARCHAR NOT NULL,
	sha256 VARCHAR NOT NULL,
	released VARCHAR,
	PRIMARY KEY (run, place),
	FOREIGN KEY(run) REFERENCES run (id)
);
INSERT INTO "run_release" VALUES('20260101-000000-aaaa',0,'go','1','go.tsv','00','');
CREATE TABLE tally (
	number INTEGER NOT NULL,
	run VARCHAR NOT NULL,
	piece VARCHAR NOT NULL,
	type VARCHAR NOT NULL,
	label VARCHAR,
	relation VARCHAR,
	object_label VARCHAR,
	attribute VARCHAR,
	outcome VARCHAR NOT NULL,
	reason VARCHAR NOT NULL,
	sources TEXT NOT NULL,
	gaps TEXT NOT NULL,
	by_team BOOLEAN NOT NULL,
	count INTEGER NOT NULL,
	PRIMARY KEY (number),
	FOREIGN KEY(run) REFERENCES run (id)
);
INSERT INTO "tally" VALUES(1,'20260101-000000-aaaa','one','existence','Protein',NULL,NULL,NULL,'refuted','id_deleted','["uniprot"]','[]',0,3);
INSERT INTO "tally" VALUES(2,'20260101-000000-aaaa','','existence','Protein',NULL,NULL,NULL,'refuted','id_deleted','["uniprot"]','[]',1,1);
INSERT INTO "tally" VALUES(3,'20260102-000000-bbbb','one','existence','Protein',NULL,NULL,NULL,'refuted','id_deleted','["uniprot"]','[]',0,3);
CREATE INDEX decision_by_action ON decision (action);
CREATE INDEX decision_by_finding ON decision (fingerprint, basis, at, number);
CREATE UNIQUE INDEX job_run_under_way ON job_run (job) WHERE state = 'running';
CREATE INDEX job_run_by_job ON job_run (job, number);
CREATE INDEX finding_by_subject ON finding (run, subject_label, subject_id);
CREATE INDEX finding_by_object ON finding (run, object_label, object_id);
CREATE INDEX finding_by_relation ON finding (run, relation);
CREATE INDEX finding_in_order ON finding (run, severity, type, by_confidence, by_score, reason, subject_label, subject_id, fingerprint);
CREATE INDEX finding_by_reason ON finding (run, reason);
CREATE INDEX tally_by_run ON tally (run, piece);
CREATE INDEX compared_by_state ON compared (run, state, fingerprint);
CREATE INDEX operation_by_finding ON operation (finding);
COMMIT;
