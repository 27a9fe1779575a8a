PRAGMA application_id = 1279742792;
PRAGMA user_version = 8;
CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    queue TEXT NOT NULL,
    job TEXT NOT NULL,
    tenant_id TEXT,
    priority INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ready_at INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    ended INTEGER,
    finished_at INTEGER,
    attempt INTEGER NOT NULL DEFAULT 0, -- of an ended job; a living one has it in its narrow row
    reason TEXT,
    error TEXT,
    progress TEXT,
    reports TEXT,
    body TEXT NOT NULL
  , facts TEXT, idempotency_key TEXT, schedule TEXT, grouping TEXT, keep_until INTEGER) STRICT;
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (1, 'id-1', 'mail', 'mail.send', NULL, 5, 1768467610581, 1768467610581, 1768485610581, 0, 2, 1768467611171, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768467611108,"endedAt":1768467611166,"outcome":"acked","error":null,"output":"\"did earlier\"","maxAttempts":4,"worker":"id-7","host":"vm"}
', '', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (2, 'id-9', 'reports', 'report.build', NULL, 5, 1768474811220, 1768474811220, 1768492811220, 0, 2, 1768478412311, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478412119,"endedAt":1768478412188,"outcome":"acked","error":null,"output":"\"did hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"name":"hourly","idempotencyKey":"schedule:hourly@2026-01-15T10:00:00.000Z","schedule":"hourly"}', 'schedule:hourly@2026-01-15T10:00:00.000Z', 'hourly', NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (3, 'id-10', 'reports', 'report.build', NULL, 5, 1768474811224, 1768474811224, 1768492811224, 0, 2, 1768478412481, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478412158,"endedAt":1768478412341,"outcome":"acked","error":null,"output":"\"did hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"name":"hourly","idempotencyKey":"schedule:hourly@2026-01-15T11:00:00.000Z","schedule":"hourly"}', 'schedule:hourly@2026-01-15T11:00:00.000Z', 'hourly', NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (4, 'id-13', 'reports', 'report.build', NULL, 5, 1768474811253, 1768474811253, 1768492811253, 0, 2, 1768478412586, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478412324,"endedAt":1768478412521,"outcome":"acked","error":null,"output":"\"did stored-hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"name":"stored-hourly","idempotencyKey":"schedule:stored-hourly@2026-01-15T10:00:00.000Z","schedule":"stored-hourly"}', 'schedule:stored-hourly@2026-01-15T10:00:00.000Z', 'stored-hourly', NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (5, 'id-14', 'reports', 'report.build', NULL, 5, 1768474811255, 1768474811255, 1768492811255, 0, 2, 1768478412656, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478412492,"endedAt":1768478412609,"outcome":"acked","error":null,"output":"\"did stored-hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"name":"stored-hourly","idempotencyKey":"schedule:stored-hourly@2026-01-15T11:00:00.000Z","schedule":"stored-hourly"}', 'schedule:stored-hourly@2026-01-15T11:00:00.000Z', 'stored-hourly', NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (6, 'id-17', 'mail', 'mail.send', 'tenant-1', 5, 1768478411357, 1768478411357, 1768496411357, 0, 2, 1768478412693, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478412595,"endedAt":1768478412655,"outcome":"acked","error":null,"output":"\"did done\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"name":"A label","requestId":"request-1"}', NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (7, 'id-18', 'mail', 'mail.send', NULL, 5, 1768478411397, 1768482012733, 1768500012733, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478412665,"endedAt":1768478412694,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"mail.send","payload":{"label":"failing"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-18","idempotencyKey":null,"schedule":null,"issuedAt":1768478411396,"expiresAt":null,"context":null,"kid":"stored","_sig":"347fb282a6328b18322a4b4539cb938f94f7673fb71534c0de5946141744d004"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (8, 'id-19', 'mail', 'mail.send', NULL, 2, 1768478411400, 1768478411400, 1768485611400, 0, 3, 1768478412157, 1, 'permanent', 'HANDLER: There is no such address.', NULL, '{"attempt":1,"startedAt":1768478412119,"endedAt":1768478412148,"outcome":"dead-lettered","error":{"code":"HANDLER","message":"There is no such address.","stack":"PermanentError: There is no such address."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"mail.send","payload":{"label":"dead"},"queue":"mail","priority":2,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-19","idempotencyKey":null,"schedule":null,"issuedAt":1768478411400,"expiresAt":null,"context":null,"kid":"stored","_sig":"24e11acc60f583f5f457750a3c1dd8eec5c653d350f3539ccad07fb09bb05213"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (9, 'id-20', 'default', 'card.charge', NULL, 5, 1768478411409, 1768478411409, 1768496411409, 0, 2, 1768478412978, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478412665,"endedAt":1768478412801,"outcome":"acked","error":null,"output":"\"did card-1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"card-1"}', 'card-1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (10, 'id-21', 'default', 'mail.sign-in', NULL, 5, 1768478411428, 1768478411428, 1768496411428, 0, 2, 1768478412840, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478412699,"endedAt":1768478412803,"outcome":"acked","error":null,"output":"\"did signed in\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (11, 'id-24', 'ledger', 'ledger.book', NULL, 5, 1768478411437, 1768482013053, 1768500013053, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478412841,"endedAt":1768478413016,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"ledger.book","payload":{"label":"failing entry"},"queue":"ledger","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-24","idempotencyKey":null,"schedule":null,"issuedAt":1768478411437,"expiresAt":null,"context":null,"kid":"stored","_sig":"6cd5dfa4cc2380ab0170b954a0e0c26c57437a44c461c75e8cdc3013f86d437c"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (12, 'id-25', 'shop', 'shop.price', NULL, 5, 1768478411439, 1768478411439, 1768496411439, 0, 2, 1768478413181, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478412841,"endedAt":1768478413097,"outcome":"acked","error":null,"output":"\"did price-1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (13, 'id-26', 'default', 'sms.send', NULL, 5, 1768478411441, 1768482013188, 1768500013188, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478413055,"endedAt":1768478413104,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"sms.send","payload":{"label":"failing sms 1"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-26","idempotencyKey":null,"schedule":null,"issuedAt":1768478411441,"expiresAt":null,"context":null,"kid":"stored","_sig":"cd5cc87e0b0791272f5b73203492c1db7bb8210232130d0eb9dbb8e4bdf926c2"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (14, 'id-27', 'default', 'sms.send', NULL, 5, 1768478411446, 1768482013441, 1768500013441, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478413184,"endedAt":1768478413262,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"sms.send","payload":{"label":"failing sms 2"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-27","idempotencyKey":null,"schedule":null,"issuedAt":1768478411446,"expiresAt":null,"context":null,"kid":"stored","_sig":"cfae0a1ec89ed3d08b99c14cbc1fefc475cf76cadf18f807913b74d28c2d1b14"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (15, 'id-28', 'default', 'order.sleep', NULL, 5, 1768478411447, 1768496413664, 1768514413664, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"order.sleep","payload":{"label":"sleeper"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-28","idempotencyKey":null,"schedule":null,"issuedAt":1768478411447,"expiresAt":null,"context":null,"kid":"stored","_sig":"47551f105b4ceb8fba63b775f6ee2d87b077d8d795b58a8fd1e3884b55534350"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (16, 'id-29', 'default', 'order.wait', NULL, 5, 1768478411465, 1768482013895, 1768500013895, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"order.wait","payload":{"label":"waiter"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-29","idempotencyKey":null,"schedule":null,"issuedAt":1768478411465,"expiresAt":null,"context":null,"kid":"stored","_sig":"b8823acd7147130806902c85b1d375d3bf3dec8295dbd78fb0eefb85a2a64c2a"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (17, 'id-30', 'default', 'month.count', NULL, 5, 1768478411467, 1768482013938, 1768500013938, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"month.count","payload":{"label":"parent"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-30","idempotencyKey":null,"schedule":null,"issuedAt":1768478411467,"expiresAt":null,"context":null,"kid":"stored","_sig":"539d79d6263f790fe7593c4597a4400986c54c1866b1bdd0cfc947290d4127be"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (18, 'batch.called.0', 'lines', 'line.import', NULL, 5, 1768478411655, 1768478411655, 1768496411655, 0, 2, 1768478414016, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478413925,"endedAt":1768478413977,"outcome":"acked","error":null,"output":"\"did a1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.called.0"}', 'batch.called.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (19, 'batch.called.1', 'lines', 'line.import', NULL, 5, 1768478411655, 1768478411655, 1768496411655, 0, 2, 1768478414267, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478413960,"endedAt":1768478414002,"outcome":"acked","error":null,"output":"\"did a2\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.called.1"}', 'batch.called.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (20, 'batch.awaited.0', 'lines', 'line.import', NULL, 5, 1768478411807, 1768478411807, 1768496411807, 0, 2, 1768478414293, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414037,"endedAt":1768478414258,"outcome":"acked","error":null,"output":"\"did b1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.awaited.0"}', 'batch.awaited.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (21, 'batch.awaited.1', 'lines', 'line.import', NULL, 5, 1768478411807, 1768482014253, 1768500014253, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414050,"endedAt":1768478414159,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"line.import","payload":{"label":"failing b2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.awaited.1","idempotencyKey":"batch.awaited.1","schedule":null,"issuedAt":1768478411807,"expiresAt":null,"context":null,"results":true,"kid":"stored","_sig":"51af220190b329ccc4fe19df60d77f706ea078ce3eb2c3c5a2ed56fb87d6466c"}', '{"idempotencyKey":"batch.awaited.1"}', 'batch.awaited.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (22, 'batch.half.0', 'lines', 'line.import', NULL, 5, 1768478412009, 1768478412009, 1768496412009, 0, 2, 1768478414314, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414254,"endedAt":1768478414277,"outcome":"acked","error":null,"output":"\"did c1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.half.0"}', 'batch.half.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (23, 'batch.half.1', 'lines', 'line.import', NULL, 5, 1768478412009, 1768482014304, 1768500014304, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414268,"endedAt":1768478414282,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"line.import","payload":{"label":"failing c2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.half.1","idempotencyKey":"batch.half.1","schedule":null,"issuedAt":1768478412009,"expiresAt":null,"context":null,"kid":"stored","_sig":"71a463a82ab9cef487604e56410bbfe504f794d57003292cf52c271f8c6a209f"}', '{"idempotencyKey":"batch.half.1"}', 'batch.half.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (24, 'batch.summed.0', 'lines', 'line.import', NULL, 5, 1768478412058, 1768478412058, 1768496412058, 0, 2, 1768478414547, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414294,"endedAt":1768478414329,"outcome":"acked","error":null,"output":"\"did d1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.summed.0"}', 'batch.summed.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (25, 'batch.summed.1', 'lines', 'line.import', NULL, 5, 1768478412058, 1768482014326, 1768500014326, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414294,"endedAt":1768478414312,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"line.import","payload":{"label":"failing d2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.summed.1","idempotencyKey":"batch.summed.1","schedule":null,"issuedAt":1768478412058,"expiresAt":null,"context":null,"results":true,"kid":"stored","_sig":"024123391aa1c347e2e5155076325110bfa72a3b2aeedba5f039a06f7cad98ff"}', '{"idempotencyKey":"batch.summed.1"}', 'batch.summed.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (26, 'batch.uncalled.0', 'lines', 'line.import', NULL, 5, 1768478412096, 1768478412096, 1768496412096, 0, 2, 1768478414616, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414315,"endedAt":1768478414340,"outcome":"acked","error":null,"output":"\"did e1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.uncalled.0"}', 'batch.uncalled.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (27, 'batch.uncalled.1', 'lines', 'line.import', NULL, 5, 1768478412096, 1768478412096, 1768496412096, 0, 2, 1768478414720, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414549,"endedAt":1768478414619,"outcome":"acked","error":null,"output":"\"did e2\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.uncalled.1"}', 'batch.uncalled.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (28, 'chain.chain.1', 'default', 'text.first', NULL, 5, 1768478412114, 1768478412114, 1768496412114, 0, 2, 1768478415054, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414549,"endedAt":1768478414943,"outcome":"acked","error":null,"output":"4","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"chain.chain.1","chain":{"id":"chain","link":1,"links":["text.first",["text.left","text.right"],"text.last"]}}', 'chain.chain.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (29, 'batch-end.called.onComplete.1', 'default', 'import.done', NULL, 5, 1768478414103, 1768478414103, 1768496414103, 0, 2, 1768478414967, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414744,"endedAt":1768478414874,"outcome":"acked","error":null,"output":"\"did called called: 2 and 0\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch-end.called.onComplete.1"}', 'batch-end.called.onComplete.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (30, 'batch.chain.chain.2.0', 'default', 'text.left', NULL, 5, 1768478414766, 1768482015138, 1768500015138, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414968,"endedAt":1768478415055,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"text.left","payload":4,"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.chain.chain.2.0","idempotencyKey":"batch.chain.chain.2.0","schedule":null,"issuedAt":1768478414766,"expiresAt":null,"context":null,"chain":{"id":"chain","link":2,"links":[{"job":"text.first"},[{"job":"text.left"},{"job":"text.right"}],{"job":"text.last"}]},"results":true,"kid":"stored","_sig":"63125d3c531e336674bdbd7354d490f7e7e347066f47dc3b9f9e9b12e37344ee"}', '{"idempotencyKey":"batch.chain.chain.2.0","chain":{"id":"chain","link":2,"links":["text.first",["text.left","text.right"],"text.last"]}}', 'batch.chain.chain.2.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (31, 'batch.chain.chain.2.1', 'default', 'text.right', NULL, 5, 1768478414766, 1768478414766, 1768496414766, 0, 2, 1768478415206, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478414968,"endedAt":1768478415153,"outcome":"acked","error":null,"output":"6","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.chain.chain.2.1","chain":{"id":"chain","link":2,"links":["text.first",["text.left","text.right"],"text.last"]}}', 'batch.chain.chain.2.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (32, 'batch.sending.0', 'lines', 'line.import', NULL, 5, 1768478415366, 1768478415366, 1768496415366, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"line.import","payload":{"label":"f1"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.sending.0","idempotencyKey":"batch.sending.0","schedule":null,"issuedAt":1768478415366,"expiresAt":null,"context":null,"kid":"stored","_sig":"7605a0e0f02a5b0faae286a641b258152f94658c87dde2fef55bf5c7348768ff"}', '{"idempotencyKey":"batch.sending.0"}', 'batch.sending.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (33, 'batch.sending.1', 'lines', 'line.import', NULL, 5, 1768478415366, 1768478415366, 1768496415366, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"line.import","payload":{"label":"f2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.sending.1","idempotencyKey":"batch.sending.1","schedule":null,"issuedAt":1768478415366,"expiresAt":null,"context":null,"kid":"stored","_sig":"522dc293d7fa5c2eda9298bad0c606b49635a2b3a85c614120cc4da3570b0ac6"}', '{"idempotencyKey":"batch.sending.1"}', 'batch.sending.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (34, 'id-40', 'mail', 'mail.send', NULL, 5, 1768478415420, 1768482015420, 1768500015420, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"mail.send","payload":{"label":"cancelled"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-40","idempotencyKey":null,"schedule":1768482015420,"issuedAt":1768478415420,"expiresAt":null,"context":null,"kid":"stored","_sig":"fdcee770ef39a9cd63cd6626dd30a4f08ce96080646a3ac4701fed5a54e0120b"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (35, 'id-41', 'mail', 'mail.send', NULL, 8, 1768478415471, 1768478415471, 1768507215471, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"mail.send","payload":{"label":"low"},"queue":"mail","priority":8,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-41","idempotencyKey":null,"schedule":null,"issuedAt":1768478415471,"expiresAt":null,"context":null,"kid":"stored","_sig":"9b867ed2afd19691ad884f3bccd9fbdf4231fbbda79582c80544a3cad2ea5152"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (36, 'id-42', 'mail', 'mail.send', NULL, 0, 1768478415493, 1768478415493, 1768478415493, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"mail.send","payload":{"label":"urgent"},"queue":"mail","priority":0,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-42","idempotencyKey":null,"schedule":null,"issuedAt":1768478415492,"expiresAt":null,"context":null,"kid":"stored","_sig":"9e5b97181076223f23f9ad08804c5d5a0e219e117348afdba8b37969df3c0b60"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (37, 'id-43', 'mail', 'mail.send', NULL, 5, 1768478415495, 1768482015495, 1768500015495, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"mail.send","payload":{"label":"delayed"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-43","idempotencyKey":null,"schedule":1768482015495,"issuedAt":1768478415495,"expiresAt":null,"context":null,"kid":"stored","_sig":"1ee388dfbdec11c1d49772bc73156b2d450bd345223ef0ababc611f8da359a56"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (38, 'id-44', 'quiet', 'mail.send', NULL, 5, 1768478415496, 1768478415496, 1768496415496, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"mail.send","payload":{"label":"in a quiet queue"},"queue":"quiet","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-44","idempotencyKey":null,"schedule":null,"issuedAt":1768478415496,"expiresAt":null,"context":null,"kid":"stored","_sig":"4761e2e0ede8d68aad656db67d6e9de41c6e1da5f7b461631fbb8df587b0aefb"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (39, 'id-45', 'default', 'report.print', NULL, 5, 1768478415506, 1768479016059, 1768497016059, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"report.print","payload":{"label":"paused job"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-45","idempotencyKey":null,"schedule":null,"issuedAt":1768478415506,"expiresAt":null,"context":null,"kid":"stored","_sig":"61f57b9c68a1a28c27a05195e8aad967a51e400539d4a6e8eea5b911eb530d74"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (40, 'id-46', 'default', 'card.charge', NULL, 5, 1768478415507, 1768478415507, 1768496415507, 0, 2, 1768478416039, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478415901,"endedAt":1768478415964,"outcome":"skipped-idempotent","error":null,"output":"\"did card-1\"","maxAttempts":4,"worker":"id-65","host":"vm"}
', '', '{"idempotencyKey":"card-1"}', 'card-1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (41, 'id-47', 'default', 'customer.sync', NULL, 5, 1768478415546, 1768489215525, 1768507215525, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"customer.sync","payload":{"label":"unique"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-47","idempotencyKey":null,"schedule":1768489215525,"issuedAt":1768478415525,"expiresAt":null,"context":null,"kid":"stored","_sig":"1076c3d399d4f12c621d0d83b6f4636bd5173875d80357b56ece84ff77a7378e"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (42, 'id-50', 'default', 'index.build', NULL, 5, 1768478415612, 1768489215674, 1768507215674, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"index.build","payload":{"label":"debounced"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-50","idempotencyKey":null,"schedule":1768489215674,"issuedAt":1768478415674,"expiresAt":null,"context":null,"kid":"stored","_sig":"f0794b5da6d66747e8f1ec992baf6d105cc1fb49c13718292e6f4003cef424bd"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (43, 'id-55', 'images', 'image.resize', NULL, 5, 1768478415683, 1768478415683, 1768496415683, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"image.resize","payload":{"label":"large 1"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-55","idempotencyKey":null,"schedule":null,"issuedAt":1768478415683,"expiresAt":null,"context":null,"kid":"stored","_sig":"675598e9b5b985f75a6dca28f6cfda0bf6f2746f6ecc525063b1f74cc80babb5"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (44, 'id-56', 'images', 'image.resize', NULL, 5, 1768478415709, 1768478415709, 1768496415709, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"image.resize","payload":{"label":"large 2"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-56","idempotencyKey":null,"schedule":null,"issuedAt":1768478415709,"expiresAt":null,"context":null,"kid":"stored","_sig":"29e0a201d0edf79ee243ccde539facb2bc7d63ad5d5ea3bf0914c7ee498d96d0"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (45, 'id-57', 'images', 'image.resize', NULL, 5, 1768478415711, 1768478415711, 1768496415711, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"image.resize","payload":{"label":"small 1"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-57","idempotencyKey":null,"schedule":null,"issuedAt":1768478415711,"expiresAt":null,"context":null,"kid":"stored","_sig":"1a0cc236b68e96d77e89c030c6987b51bd0da8df1af24b2404efacae5960607d"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (46, 'id-58', 'images', 'image.resize', NULL, 5, 1768478415725, 1768478415725, 1768496415725, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"image.resize","payload":{"label":"small 2"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-58","idempotencyKey":null,"schedule":null,"issuedAt":1768478415725,"expiresAt":null,"context":null,"kid":"stored","_sig":"9daca6f7682c300590c593b780e2a563e01f783fad49312d8c6b94176b7a2ffe"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (47, 'id-59', 'ledger', 'ledger.book', NULL, 5, 1768478415727, 1768478415727, 1768496415727, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"ledger.book","payload":{"label":"second entry"},"queue":"ledger","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-59","idempotencyKey":null,"schedule":null,"issuedAt":1768478415727,"expiresAt":null,"context":null,"kid":"stored","_sig":"73b6fd429f704d6c82c03f6ad6e4a6b792704ead8949e4e996fb4715ab4f9859"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (48, 'id-60', 'default', 'sms.send', NULL, 5, 1768478415737, 1768507213869, 1768525213869, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"sms.send","payload":{"label":"sms 3"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-60","idempotencyKey":null,"schedule":null,"issuedAt":1768478415737,"expiresAt":null,"context":null,"kid":"stored","_sig":"9c94183b6c18ab65bf626d09202ccea2dcb5a11c9d826d7f75288c19e54ebb97"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (49, 'id-61', 'shop', 'shop.price', NULL, 5, 1768478415747, 1768492813025, 1768510813025, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"shop.price","payload":{"label":"price-2"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-61","idempotencyKey":null,"schedule":null,"issuedAt":1768478415747,"expiresAt":null,"context":null,"kid":"stored","_sig":"fbb048d639065b99f75328088752ee16f221ea2aaa809da0ffb7f391ddb11439"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (50, 'id-62', 'shop', 'shop.sync', NULL, 5, 1768478415749, 1768478415749, 1768496415749, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"shop.sync","payload":{"label":"in use"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-62","idempotencyKey":null,"schedule":null,"issuedAt":1768478415749,"expiresAt":null,"context":null,"kid":"stored","_sig":"615d91b8a780688b10ca8361eae08bd29f4fe8e3513bb242f4a0d64136f266a5"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (51, 'id-63', 'default', 'card.charge', NULL, 5, 1768478415750, 1768478415750, 1768496415750, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"card.charge","payload":{"label":"stuck card"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-63","idempotencyKey":"stuck card","schedule":null,"issuedAt":1768478415750,"expiresAt":null,"context":null,"kid":"stored","_sig":"be118b54b09b789c8c8a1b79f3372580f7cb03c5643a3e54ba702b05cf4f5963"}', '{"idempotencyKey":"stuck card"}', 'stuck card', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (52, 'id-66', 'shop', 'shop.sync', NULL, 5, 1768478416339, 1768478446179, 1768496446179, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"shop.sync","payload":{"label":"waits for a slot"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-66","idempotencyKey":null,"schedule":null,"issuedAt":1768478416339,"expiresAt":null,"context":null,"kid":"stored","_sig":"eb817bd15f1b21ec345f5bd5f6eb67eda0157c03ba4001985c8b1701b7939dd0"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (53, 'id-67', 'shop', 'shop.sync', NULL, 5, 1768478416348, 1768478476143, 1768496476143, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"shop.sync","payload":{"label":"waits for a slot too"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-67","idempotencyKey":null,"schedule":null,"issuedAt":1768478416348,"expiresAt":null,"context":null,"kid":"stored","_sig":"3b54ac377add999c85f4601b6b70d60ecb510f188c46814e8e982053cd49110c"}', NULL, NULL, NULL, NULL, NULL);
CREATE TABLE ready (
    queue TEXT NOT NULL,
    rank INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    ready_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    PRIMARY KEY (queue, rank, seq)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('images', 1768496415683, 43, 1768478415683, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('images', 1768496415711, 45, 1768478415711, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('lines', 1768496415366, 32, 1768478415366, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('lines', 1768496415366, 33, 1768478415366, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('mail', 1768478415493, 36, 1768478415493, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('mail', 1768507215471, 35, 1768478415471, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('quiet', 1768496415496, 38, 1768478415496, 0, 0);
CREATE TABLE delayed (
    queue TEXT NOT NULL,
    ready_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    PRIMARY KEY (queue, ready_at, seq)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768479016059, 39, 1768497016059, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768482013188, 13, 1768500013188, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768482013441, 14, 1768500013441, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768482013895, 16, 1768500013895, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768482013938, 17, 1768500013938, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768482015138, 30, 1768500015138, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768489215525, 41, 1768507215525, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768489215674, 42, 1768507215674, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768496413664, 15, 1768514413664, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768507213869, 48, 1768525213869, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('ledger', 1768482013053, 11, 1768500013053, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('lines', 1768482014253, 21, 1768500014253, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('lines', 1768482014304, 23, 1768500014304, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('lines', 1768482014326, 25, 1768500014326, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('mail', 1768482012733, 7, 1768500012733, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('mail', 1768482015420, 34, 1768500015420, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('mail', 1768482015495, 37, 1768500015495, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('shop', 1768478446179, 52, 1768496446179, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('shop', 1768478476143, 53, 1768496476143, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('shop', 1768492813025, 49, 1768510813025, 0, 0);
CREATE TABLE leases (
    seq INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    nonce TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL
  ) STRICT;
INSERT INTO "leases" ("seq", "queue", "nonce", "claimed_at", "lease_until", "attempt", "interrupted") VALUES (50, 'shop', 'VpnA9GHRdRg5DfOK', 1768478416108, 1768478446108, 1, 0);
INSERT INTO "leases" ("seq", "queue", "nonce", "claimed_at", "lease_until", "attempt", "interrupted") VALUES (51, 'default', '_pzbWiltHpCfVrLl', 1768478416219, 1768478446219, 1, 0);
CREATE TRIGGER jobs_ready AFTER INSERT ON jobs WHEN new.ready_at <= new.created_at BEGIN
    INSERT INTO ready VALUES (new.queue, new.rank, new.seq, new.ready_at, 0, 0);
  END;
CREATE TRIGGER jobs_delayed AFTER INSERT ON jobs WHEN new.ready_at > new.created_at BEGIN
    INSERT INTO delayed VALUES (new.queue, new.ready_at, new.seq, new.rank, 0, 0);
  END;
CREATE VIEW job_states AS
    SELECT j.*,
      coalesce(j.ended, CASE WHEN l.seq IS NULL THEN 0 ELSE 1 END) AS state,
      coalesce(l.attempt, r.attempt, d.attempt, j.attempt) AS attempts
    FROM jobs j
    LEFT JOIN leases l ON l.seq = j.seq
    LEFT JOIN ready r ON r.queue = j.queue AND r.rank = j.rank AND r.seq = j.seq
    LEFT JOIN delayed d ON d.queue = j.queue AND d.ready_at = j.ready_at AND d.seq = j.seq;
CREATE TABLE queues (name TEXT PRIMARY KEY, paused INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO "queues" ("name", "paused") VALUES ('default', 0);
INSERT INTO "queues" ("name", "paused") VALUES ('images', 0);
INSERT INTO "queues" ("name", "paused") VALUES ('ledger', 0);
INSERT INTO "queues" ("name", "paused") VALUES ('lines', 0);
INSERT INTO "queues" ("name", "paused") VALUES ('mail', 0);
INSERT INTO "queues" ("name", "paused") VALUES ('quiet', 1);
INSERT INTO "queues" ("name", "paused") VALUES ('reports', 0);
INSERT INTO "queues" ("name", "paused") VALUES ('shop', 0);
CREATE TABLE keys (
    key TEXT PRIMARY KEY,
    owner TEXT,
    hold_until INTEGER NOT NULL,
    done INTEGER NOT NULL,
    value TEXT,
    -- Of the value and of done. Apart from the hold, so that an owner that dies does not take the value with it.
    keep_until INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE INDEX keys_ended ON keys (max(hold_until, keep_until));
CREATE TABLE workers (id TEXT PRIMARY KEY, seen_at INTEGER NOT NULL, beat TEXT NOT NULL, drain INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE TABLE records (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    version TEXT NOT NULL,
    queue TEXT NOT NULL,
    job TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    guarded_until INTEGER NOT NULL,
    row TEXT NOT NULL
  , tenant_id TEXT, facts TEXT) STRICT;
CREATE INDEX records_created_at ON records (created_at, seq);
CREATE INDEX records_status ON records (status, created_at, seq);
CREATE INDEX records_finished_at ON records (finished_at) WHERE finished_at IS NOT NULL;
CREATE TABLE metrics (
    step TEXT NOT NULL,
    at INTEGER NOT NULL,
    queue TEXT NOT NULL,
    job TEXT NOT NULL,
    source TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (step, at, queue, job, source)
  ) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_tenant ON jobs (tenant_id) WHERE tenant_id IS NOT NULL;
CREATE INDEX jobs_key ON jobs (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX jobs_schedule ON jobs (schedule) WHERE schedule IS NOT NULL;
CREATE INDEX records_tenant ON records (tenant_id, created_at, seq) WHERE tenant_id IS NOT NULL;
CREATE INDEX records_key ON records (facts ->> 'idempotencyKey') WHERE facts ->> 'idempotencyKey' IS NOT NULL;
CREATE INDEX records_schedule ON records (facts ->> 'schedule', created_at, seq) WHERE facts ->> 'schedule' IS NOT NULL;
CREATE INDEX jobs_dead ON jobs (queue, finished_at) WHERE ended IN (3, 5);
CREATE TABLE audit (at INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, entry TEXT NOT NULL, PRIMARY KEY (at, id)) STRICT, WITHOUT ROWID;
CREATE TABLE grouped (
    seq INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    name TEXT NOT NULL,
    ordering TEXT, -- NULL: groups only take turns
    state INTEGER NOT NULL,
    place INTEGER, -- in the line, kept for life; NULL: it has not joined yet
    entered_at INTEGER NOT NULL DEFAULT 0, -- when it counted as ready, as a head
    apart_until INTEGER,
    attempt INTEGER NOT NULL DEFAULT 0,
    interrupted INTEGER NOT NULL DEFAULT 0
  ) STRICT;
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (11, 'ledger', 'account-1', 'wait', 1, 1768478411437, 1768478411437, NULL, 1, 0);
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (43, 'images', 'large', NULL, 1, 1768496415683, 1768478415683, NULL, 0, 0);
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (44, 'images', 'large', NULL, 0, 1768496415709, 0, NULL, 0, 0);
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (45, 'images', 'small', NULL, 1, 1768496415711, 1768478415711, NULL, 0, 0);
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (46, 'images', 'small', NULL, 0, 1768496415725, 0, NULL, 0, 0);
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (47, 'ledger', 'account-1', 'wait', 0, 1768478415727, 0, NULL, 0, 0);
CREATE INDEX grouped_line ON grouped (queue, name, state, place, seq);
CREATE INDEX grouped_apart ON grouped (queue, apart_until) WHERE apart_until IS NOT NULL;
CREATE TABLE limit_slots (
    key TEXT NOT NULL,
    holder TEXT NOT NULL,
    owner TEXT NOT NULL,
    most INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (key, holder)
  ) STRICT, WITHOUT ROWID;
CREATE INDEX limit_slots_until ON limit_slots (until);
CREATE TABLE limit_waiters (
    holder TEXT NOT NULL,
    key TEXT NOT NULL,
    queue TEXT NOT NULL,
    rank REAL NOT NULL,
    most INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (holder, key)
  ) STRICT, WITHOUT ROWID;
CREATE INDEX limit_waiters_rank ON limit_waiters (key, rank, holder, until);
CREATE INDEX limit_waiters_until ON limit_waiters (until);
CREATE TABLE limit_holds (key TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE steps (name TEXT PRIMARY KEY, version TEXT NOT NULL, ends_at INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX steps_ends_at ON steps (ends_at);
CREATE TABLE batches (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    look_at INTEGER, -- NULL = nobody needs to
    ends_at INTEGER NOT NULL,
    state TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX batches_seq ON batches (seq);
CREATE INDEX batches_look_at ON batches (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX batches_ends_at ON batches (ends_at);
CREATE TABLE batch_marks (
    batch TEXT NOT NULL,
    block INTEGER NOT NULL,
    ended BLOB NOT NULL,
    failed BLOB NOT NULL,
    PRIMARY KEY (batch, block)
  ) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_ended ON jobs (ended, finished_at) WHERE ended IS NOT NULL AND keep_until IS NULL;
CREATE INDEX jobs_died ON jobs (ended, finished_at) WHERE ended IN (3, 5);
CREATE INDEX jobs_kept ON jobs (keep_until) WHERE keep_until IS NOT NULL;
CREATE TABLE schedules (name TEXT PRIMARY KEY, next_at INTEGER, version TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX schedules_next_at ON schedules (next_at, name) WHERE next_at IS NOT NULL;
