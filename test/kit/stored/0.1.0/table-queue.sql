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
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (1, 'id-1', 'mail', 'mail.send', NULL, 5, 1768467613989, 1768467613989, 1768485613989, 0, 2, 1768467614700, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768467614646,"endedAt":1768467614695,"outcome":"acked","error":null,"output":"\"did earlier\"","maxAttempts":4,"worker":"id-7","host":"vm"}
', '', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (2, 'id-9', 'reports', 'report.build', NULL, 5, 1768474814716, 1768474814716, 1768492814716, 0, 2, 1768478416273, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478415897,"endedAt":1768478416158,"outcome":"acked","error":null,"output":"\"did hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"name":"hourly","idempotencyKey":"schedule:hourly@2026-01-15T10:00:00.000Z","schedule":"hourly"}', 'schedule:hourly@2026-01-15T10:00:00.000Z', 'hourly', NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (3, 'id-10', 'reports', 'report.build', NULL, 5, 1768474814739, 1768474814739, 1768492814739, 0, 2, 1768478416461, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478416111,"endedAt":1768478416333,"outcome":"acked","error":null,"output":"\"did hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"name":"hourly","idempotencyKey":"schedule:hourly@2026-01-15T11:00:00.000Z","schedule":"hourly"}', 'schedule:hourly@2026-01-15T11:00:00.000Z', 'hourly', NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (4, 'id-13', 'reports', 'report.build', NULL, 5, 1768474814763, 1768474814763, 1768492814763, 0, 2, 1768478416628, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478416304,"endedAt":1768478416503,"outcome":"acked","error":null,"output":"\"did stored-hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"name":"stored-hourly","idempotencyKey":"schedule:stored-hourly@2026-01-15T10:00:00.000Z","schedule":"stored-hourly"}', 'schedule:stored-hourly@2026-01-15T10:00:00.000Z', 'stored-hourly', NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (5, 'id-14', 'reports', 'report.build', NULL, 5, 1768474814765, 1768474814765, 1768492814765, 0, 2, 1768478416959, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478416461,"endedAt":1768478416641,"outcome":"acked","error":null,"output":"\"did stored-hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"name":"stored-hourly","idempotencyKey":"schedule:stored-hourly@2026-01-15T11:00:00.000Z","schedule":"stored-hourly"}', 'schedule:stored-hourly@2026-01-15T11:00:00.000Z', 'stored-hourly', NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (6, 'id-17', 'mail', 'mail.send', 'tenant-1', 5, 1768478414801, 1768478414801, 1768496414801, 0, 2, 1768478417035, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478416629,"endedAt":1768478416926,"outcome":"acked","error":null,"output":"\"did done\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"name":"A label","requestId":"request-1"}', NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (7, 'id-18', 'mail', 'mail.send', NULL, 5, 1768478414803, 1768482016925, 1768500016925, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478416642,"endedAt":1768478416798,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"mail.send","payload":{"label":"failing"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-18","idempotencyKey":null,"schedule":null,"issuedAt":1768478414803,"expiresAt":null,"context":null,"kid":"stored","_sig":"ebe75723045f30def727a0821c9779a06fed74511a340dccfe2b59cd4af1e60d"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (8, 'id-19', 'mail', 'mail.send', NULL, 2, 1768478414807, 1768478414807, 1768485614807, 0, 3, 1768478416086, 1, 'permanent', 'HANDLER: There is no such address.', NULL, '{"attempt":1,"startedAt":1768478415897,"endedAt":1768478416022,"outcome":"dead-lettered","error":{"code":"HANDLER","message":"There is no such address.","stack":"PermanentError: There is no such address."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"mail.send","payload":{"label":"dead"},"queue":"mail","priority":2,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-19","idempotencyKey":null,"schedule":null,"issuedAt":1768478414807,"expiresAt":null,"context":null,"kid":"stored","_sig":"7b98f316ad3949338d074e0ec7f779c479e67ea42098eaa9beb3cd1e75e2924a"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (9, 'id-20', 'default', 'card.charge', NULL, 5, 1768478414809, 1768478414809, 1768496414809, 0, 2, 1768478417398, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478416966,"endedAt":1768478417215,"outcome":"acked","error":null,"output":"\"did card-1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"card-1"}', 'card-1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (10, 'id-21', 'default', 'mail.sign-in', NULL, 5, 1768478414822, 1768478414822, 1768496414822, 0, 2, 1768478417226, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478416966,"endedAt":1768478417159,"outcome":"acked","error":null,"output":"\"did signed in\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (11, 'id-24', 'ledger', 'ledger.book', NULL, 5, 1768478414830, 1768482017335, 1768500017335, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478417231,"endedAt":1768478417287,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"ledger.book","payload":{"label":"failing entry"},"queue":"ledger","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-24","idempotencyKey":null,"schedule":null,"issuedAt":1768478414830,"expiresAt":null,"context":null,"kid":"stored","_sig":"ac888373a75e0e6530e8c92af24bb6cae78d8ae4c29de7963d754da183e82195"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (12, 'id-25', 'shop', 'shop.price', NULL, 5, 1768478414832, 1768478414832, 1768496414832, 0, 2, 1768478417613, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478417231,"endedAt":1768478417561,"outcome":"acked","error":null,"output":"\"did price-1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (13, 'id-26', 'default', 'sms.send', NULL, 5, 1768478414834, 1768482017569, 1768500017569, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478417365,"endedAt":1768478417519,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"sms.send","payload":{"label":"failing sms 1"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-26","idempotencyKey":null,"schedule":null,"issuedAt":1768478414834,"expiresAt":null,"context":null,"kid":"stored","_sig":"5f81d3ce507ac48cb582c083c8fe2a381a26511fc7683d9ab4390300ef98600b"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (14, 'id-27', 'default', 'sms.send', NULL, 5, 1768478414836, 1768482017941, 1768500017941, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478417628,"endedAt":1768478417847,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"sms.send","payload":{"label":"failing sms 2"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-27","idempotencyKey":null,"schedule":null,"issuedAt":1768478414836,"expiresAt":null,"context":null,"kid":"stored","_sig":"e78263b4aadc7f3f747a0a21d7dc119cf3f49a9c6823e67e56d73e0bb5d1ae4a"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (15, 'id-28', 'default', 'order.sleep', NULL, 5, 1768478414847, 1768496418171, 1768514418171, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"order.sleep","payload":{"label":"sleeper"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-28","idempotencyKey":null,"schedule":null,"issuedAt":1768478414847,"expiresAt":null,"context":null,"kid":"stored","_sig":"2a16a40602e1499e64b9b1ef2f965614ec0d31cccb20437fb338507be50f9f7d"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (16, 'id-29', 'default', 'order.wait', NULL, 5, 1768478414850, 1768482018276, 1768500018276, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"order.wait","payload":{"label":"waiter"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-29","idempotencyKey":null,"schedule":null,"issuedAt":1768478414850,"expiresAt":null,"context":null,"kid":"stored","_sig":"68fd4c73243e3139c72673e24c374318146f70e4f47eb496b0661448a4925fe9"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (17, 'id-30', 'default', 'month.count', NULL, 5, 1768478414852, 1768482018292, 1768500018292, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"month.count","payload":{"label":"parent"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-30","idempotencyKey":null,"schedule":null,"issuedAt":1768478414852,"expiresAt":null,"context":null,"kid":"stored","_sig":"85e737b9c3f7606797ba2c82b062f482bbfec655c55b1925cdc3720158101326"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (18, 'batch.called.0', 'lines', 'line.import', NULL, 5, 1768478414904, 1768478414904, 1768496414904, 0, 2, 1768478418321, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418279,"endedAt":1768478418296,"outcome":"acked","error":null,"output":"\"did a1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.called.0"}', 'batch.called.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (19, 'batch.called.1', 'lines', 'line.import', NULL, 5, 1768478414904, 1768478414904, 1768496414904, 0, 2, 1768478418515, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418295,"endedAt":1768478418311,"outcome":"acked","error":null,"output":"\"did a2\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.called.1"}', 'batch.called.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (20, 'batch.awaited.0', 'lines', 'line.import', NULL, 5, 1768478414945, 1768478414945, 1768496414945, 0, 2, 1768478418550, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418321,"endedAt":1768478418381,"outcome":"acked","error":null,"output":"\"did b1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.awaited.0"}', 'batch.awaited.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (21, 'batch.awaited.1', 'lines', 'line.import', NULL, 5, 1768478414945, 1768482018384, 1768500018384, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418323,"endedAt":1768478418346,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"line.import","payload":{"label":"failing b2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.awaited.1","idempotencyKey":"batch.awaited.1","schedule":null,"issuedAt":1768478414945,"expiresAt":null,"context":null,"results":true,"kid":"stored","_sig":"0320b42244a4009604acaacf7102ec6f69e2d5a02f41daa46949869598be93d4"}', '{"idempotencyKey":"batch.awaited.1"}', 'batch.awaited.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (22, 'batch.half.0', 'lines', 'line.import', NULL, 5, 1768478415219, 1768478415219, 1768496415219, 0, 2, 1768478418710, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418389,"endedAt":1768478418520,"outcome":"acked","error":null,"output":"\"did c1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.half.0"}', 'batch.half.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (23, 'batch.half.1', 'lines', 'line.import', NULL, 5, 1768478415219, 1768482018525, 1768500018525, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418389,"endedAt":1768478418495,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"line.import","payload":{"label":"failing c2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.half.1","idempotencyKey":"batch.half.1","schedule":null,"issuedAt":1768478415219,"expiresAt":null,"context":null,"kid":"stored","_sig":"3c1fc491d6cfeea6c86284599e0cfb279fa4149525158694f74aca78286c92f3"}', '{"idempotencyKey":"batch.half.1"}', 'batch.half.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (24, 'batch.summed.0', 'lines', 'line.import', NULL, 5, 1768478415477, 1768478415477, 1768496415477, 0, 2, 1768478419252, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418517,"endedAt":1768478418709,"outcome":"acked","error":null,"output":"\"did d1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.summed.0"}', 'batch.summed.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (25, 'batch.summed.1', 'lines', 'line.import', NULL, 5, 1768478415477, 1768482018709, 1768500018709, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418521,"endedAt":1768478418538,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"line.import","payload":{"label":"failing d2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.summed.1","idempotencyKey":"batch.summed.1","schedule":null,"issuedAt":1768478415477,"expiresAt":null,"context":null,"results":true,"kid":"stored","_sig":"5d0dc00096b0f258e6fe498ab27be16efc4960f5b5237ca21aa1412c2c99ec9b"}', '{"idempotencyKey":"batch.summed.1"}', 'batch.summed.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (26, 'batch.uncalled.0', 'lines', 'line.import', NULL, 5, 1768478415675, 1768478415675, 1768496415675, 0, 2, 1768478419011, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418551,"endedAt":1768478418659,"outcome":"acked","error":null,"output":"\"did e1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.uncalled.0"}', 'batch.uncalled.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (27, 'batch.uncalled.1', 'lines', 'line.import', NULL, 5, 1768478415675, 1768478415675, 1768496415675, 0, 2, 1768478419466, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418728,"endedAt":1768478419007,"outcome":"acked","error":null,"output":"\"did e2\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.uncalled.1"}', 'batch.uncalled.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (28, 'chain.chain.1', 'default', 'text.first', NULL, 5, 1768478415803, 1768478415803, 1768496415803, 0, 2, 1768478419629, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478418728,"endedAt":1768478419557,"outcome":"acked","error":null,"output":"4","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"chain.chain.1","chain":{"id":"chain","link":1,"links":["text.first",["text.left","text.right"],"text.last"]}}', 'chain.chain.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (29, 'batch-end.called.onComplete.1', 'default', 'import.done', NULL, 5, 1768478418348, 1768478418348, 1768496418348, 0, 2, 1768478419370, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478419012,"endedAt":1768478419252,"outcome":"acked","error":null,"output":"\"did called called: 2 and 0\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch-end.called.onComplete.1"}', 'batch-end.called.onComplete.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (30, 'batch.chain.chain.2.0', 'default', 'text.left', NULL, 5, 1768478419385, 1768482019581, 1768500019581, 0, NULL, NULL, 0, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478419392,"endedAt":1768478419502,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"v":1,"job":"text.left","payload":4,"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.chain.chain.2.0","idempotencyKey":"batch.chain.chain.2.0","schedule":null,"issuedAt":1768478419385,"expiresAt":null,"context":null,"chain":{"id":"chain","link":2,"links":[{"job":"text.first"},[{"job":"text.left"},{"job":"text.right"}],{"job":"text.last"}]},"results":true,"kid":"stored","_sig":"ac6e8e39cdf0cfefa8de6c04cb3988743456a7f7fb16d24c0822206c2b5dde9b"}', '{"idempotencyKey":"batch.chain.chain.2.0","chain":{"id":"chain","link":2,"links":["text.first",["text.left","text.right"],"text.last"]}}', 'batch.chain.chain.2.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (31, 'batch.chain.chain.2.1', 'default', 'text.right', NULL, 5, 1768478419385, 1768478419385, 1768496419385, 0, 2, 1768478419758, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478419588,"endedAt":1768478419684,"outcome":"acked","error":null,"output":"6","maxAttempts":4,"worker":"id-36","host":"vm"}
', '', '{"idempotencyKey":"batch.chain.chain.2.1","chain":{"id":"chain","link":2,"links":["text.first",["text.left","text.right"],"text.last"]}}', 'batch.chain.chain.2.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (32, 'batch.sending.0', 'lines', 'line.import', NULL, 5, 1768478419923, 1768478419923, 1768496419923, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"line.import","payload":{"label":"f1"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.sending.0","idempotencyKey":"batch.sending.0","schedule":null,"issuedAt":1768478419923,"expiresAt":null,"context":null,"kid":"stored","_sig":"741bdba4a6ffb482166a78639caf3563830d2e1d30c8ccf67f2ca4b01f498d58"}', '{"idempotencyKey":"batch.sending.0"}', 'batch.sending.0', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (33, 'batch.sending.1', 'lines', 'line.import', NULL, 5, 1768478419923, 1768478419923, 1768496419923, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"line.import","payload":{"label":"f2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.sending.1","idempotencyKey":"batch.sending.1","schedule":null,"issuedAt":1768478419923,"expiresAt":null,"context":null,"kid":"stored","_sig":"295fac828cdb3720ae087adca7d105d76946c81c97159c6cb18a67abb87bee3b"}', '{"idempotencyKey":"batch.sending.1"}', 'batch.sending.1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (34, 'id-40', 'mail', 'mail.send', NULL, 5, 1768478419949, 1768482019949, 1768500019949, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"mail.send","payload":{"label":"cancelled"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-40","idempotencyKey":null,"schedule":1768482019949,"issuedAt":1768478419949,"expiresAt":null,"context":null,"kid":"stored","_sig":"caffa098091d448eb892d13863ee5fe32a0ac6f0524343556f2a4506d8acc964"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (35, 'id-41', 'mail', 'mail.send', NULL, 8, 1768478419973, 1768478419973, 1768507219973, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"mail.send","payload":{"label":"low"},"queue":"mail","priority":8,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-41","idempotencyKey":null,"schedule":null,"issuedAt":1768478419973,"expiresAt":null,"context":null,"kid":"stored","_sig":"984ac8fd80a1cf9de879aebae9353f863a777d0671d114089663d6a4d946355d"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (36, 'id-42', 'mail', 'mail.send', NULL, 0, 1768478419980, 1768478419980, 1768478419980, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"mail.send","payload":{"label":"urgent"},"queue":"mail","priority":0,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-42","idempotencyKey":null,"schedule":null,"issuedAt":1768478419980,"expiresAt":null,"context":null,"kid":"stored","_sig":"a5e92ed0d54414fffee86712dcb28d0a0feb0b0fe1053cdc37dd5da0e16b81d6"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (37, 'id-43', 'mail', 'mail.send', NULL, 5, 1768478419985, 1768482019985, 1768500019985, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"mail.send","payload":{"label":"delayed"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-43","idempotencyKey":null,"schedule":1768482019985,"issuedAt":1768478419985,"expiresAt":null,"context":null,"kid":"stored","_sig":"61bae8f9969f49657acf62a3854d2e2a4f19349be7cb48f98c9fa8156e96e12f"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (38, 'id-44', 'quiet', 'mail.send', NULL, 5, 1768478419994, 1768478419994, 1768496419994, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"mail.send","payload":{"label":"in a quiet queue"},"queue":"quiet","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-44","idempotencyKey":null,"schedule":null,"issuedAt":1768478419994,"expiresAt":null,"context":null,"kid":"stored","_sig":"e8238649dc8fda41feba154b22e68e5df6d4c5ebfc86a720f72b2383a09f0cec"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (39, 'id-45', 'default', 'report.print', NULL, 5, 1768478420001, 1768479020602, 1768497020602, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"report.print","payload":{"label":"paused job"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-45","idempotencyKey":null,"schedule":null,"issuedAt":1768478420001,"expiresAt":null,"context":null,"kid":"stored","_sig":"6ea324641b942d5dee897e3eb224891fdb36f6ada11b55ed8bdf96eabcafc9a0"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (40, 'id-46', 'default', 'card.charge', NULL, 5, 1768478420009, 1768478420009, 1768496420009, 0, 2, 1768478420436, 1, NULL, NULL, NULL, '{"attempt":1,"startedAt":1768478420330,"endedAt":1768478420401,"outcome":"skipped-idempotent","error":null,"output":"\"did card-1\"","maxAttempts":4,"worker":"id-65","host":"vm"}
', '', '{"idempotencyKey":"card-1"}', 'card-1', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (41, 'id-47', 'default', 'customer.sync', NULL, 5, 1768478420043, 1768489220018, 1768507220018, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"customer.sync","payload":{"label":"unique"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-47","idempotencyKey":null,"schedule":1768489220018,"issuedAt":1768478420018,"expiresAt":null,"context":null,"kid":"stored","_sig":"120704b05b343d7d2a295edfd5dd36ecc465447753133cc0c8528af4f833f6e5"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (42, 'id-50', 'default', 'index.build', NULL, 5, 1768478420101, 1768489220142, 1768507220142, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"index.build","payload":{"label":"debounced"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-50","idempotencyKey":null,"schedule":1768489220142,"issuedAt":1768478420142,"expiresAt":null,"context":null,"kid":"stored","_sig":"90415c2c9f4201742346de1b5032124e1994caac9fa7236d4d8b3729d4d3f95d"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (43, 'id-55', 'images', 'image.resize', NULL, 5, 1768478420171, 1768478420171, 1768496420171, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"image.resize","payload":{"label":"large 1"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-55","idempotencyKey":null,"schedule":null,"issuedAt":1768478420171,"expiresAt":null,"context":null,"kid":"stored","_sig":"33fb0bba2f117ebac16c15891538a7ac8fcb9f86408aeda08b0b97d54a697221"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (44, 'id-56', 'images', 'image.resize', NULL, 5, 1768478420190, 1768478420190, 1768496420190, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"image.resize","payload":{"label":"large 2"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-56","idempotencyKey":null,"schedule":null,"issuedAt":1768478420190,"expiresAt":null,"context":null,"kid":"stored","_sig":"1dce0a5cf5c67b82a58ffb5cf4c66ed66840f215b499ccd570b53771e82a1d5d"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (45, 'id-57', 'images', 'image.resize', NULL, 5, 1768478420223, 1768478420223, 1768496420223, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"image.resize","payload":{"label":"small 1"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-57","idempotencyKey":null,"schedule":null,"issuedAt":1768478420200,"expiresAt":null,"context":null,"kid":"stored","_sig":"35c5242bc1ba241a97ffb59ad4b057695a7f85457f76c656d2a5799f74de0f15"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (46, 'id-58', 'images', 'image.resize', NULL, 5, 1768478420226, 1768478420226, 1768496420226, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"image.resize","payload":{"label":"small 2"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-58","idempotencyKey":null,"schedule":null,"issuedAt":1768478420226,"expiresAt":null,"context":null,"kid":"stored","_sig":"731a66dfcedb5f29c624b190e0cfd946baebe375c1ee0cad49d2da0fb247de0a"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (47, 'id-59', 'ledger', 'ledger.book', NULL, 5, 1768478420242, 1768478420242, 1768496420242, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"ledger.book","payload":{"label":"second entry"},"queue":"ledger","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-59","idempotencyKey":null,"schedule":null,"issuedAt":1768478420242,"expiresAt":null,"context":null,"kid":"stored","_sig":"62f34bcba538f394be3bebf138b74b60b63beade55fa04900f1489265391080a"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (48, 'id-60', 'default', 'sms.send', NULL, 5, 1768478420245, 1768507218399, 1768525218399, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"sms.send","payload":{"label":"sms 3"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-60","idempotencyKey":null,"schedule":null,"issuedAt":1768478420245,"expiresAt":null,"context":null,"kid":"stored","_sig":"0e238c70a15cb7ae455b05fd89cc1c2b0d7688cb5f7f94868b5c24f5cff68a1a"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (49, 'id-61', 'shop', 'shop.price', NULL, 5, 1768478420253, 1768492817413, 1768510817413, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"shop.price","payload":{"label":"price-2"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-61","idempotencyKey":null,"schedule":null,"issuedAt":1768478420253,"expiresAt":null,"context":null,"kid":"stored","_sig":"502c0b97ba69bd2efaa264a57760f29411f2756e095ceaa00d2768acc79fcac4"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (50, 'id-62', 'shop', 'shop.sync', NULL, 5, 1768478420259, 1768478420259, 1768496420259, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"shop.sync","payload":{"label":"in use"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-62","idempotencyKey":null,"schedule":null,"issuedAt":1768478420259,"expiresAt":null,"context":null,"kid":"stored","_sig":"f476fdf8def9a08894fd36c4572a99501180ac94e5bef640da8f7fcf1df71632"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (51, 'id-63', 'default', 'card.charge', NULL, 5, 1768478420270, 1768478420270, 1768496420270, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, '{"v":1,"job":"card.charge","payload":{"label":"stuck card"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-63","idempotencyKey":"stuck card","schedule":null,"issuedAt":1768478420269,"expiresAt":null,"context":null,"kid":"stored","_sig":"1eb6463a0eadc551d50ba04cc1b35edf3c90fdb351f6f8c896d94a2f87589a90"}', '{"idempotencyKey":"stuck card"}', 'stuck card', NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (52, 'id-66', 'shop', 'shop.sync', NULL, 5, 1768478420787, 1768478450712, 1768496450712, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"shop.sync","payload":{"label":"waits for a slot"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-66","idempotencyKey":null,"schedule":null,"issuedAt":1768478420787,"expiresAt":null,"context":null,"kid":"stored","_sig":"d3bc5a84f3194efb1db99923cd568a59e84e520381ec7ae1d3560f5aff625a8d"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO "jobs" ("seq", "id", "queue", "job", "tenant_id", "priority", "created_at", "ready_at", "rank", "cancel_requested", "ended", "finished_at", "attempt", "reason", "error", "progress", "reports", "body", "facts", "idempotency_key", "schedule", "grouping", "keep_until") VALUES (53, 'id-67', 'shop', 'shop.sync', NULL, 5, 1768478420790, 1768478480707, 1768496480707, 0, NULL, NULL, 0, NULL, NULL, NULL, '', '{"v":1,"job":"shop.sync","payload":{"label":"waits for a slot too"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-67","idempotencyKey":null,"schedule":null,"issuedAt":1768478420790,"expiresAt":null,"context":null,"kid":"stored","_sig":"2977a1b3f54cb9cf6dbc914b25512a125e6da83d3db7c7e4a467d6ff55387898"}', NULL, NULL, NULL, NULL, NULL);
CREATE TABLE ready (
    queue TEXT NOT NULL,
    rank INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    ready_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    PRIMARY KEY (queue, rank, seq)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('images', 1768496420171, 43, 1768478420171, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('images', 1768496420223, 45, 1768478420223, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('lines', 1768496419923, 32, 1768478419923, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('lines', 1768496419923, 33, 1768478419923, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('mail', 1768478419980, 36, 1768478419980, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('mail', 1768507219973, 35, 1768478419973, 0, 0);
INSERT INTO "ready" ("queue", "rank", "seq", "ready_at", "attempt", "interrupted") VALUES ('quiet', 1768496419994, 38, 1768478419994, 0, 0);
CREATE TABLE delayed (
    queue TEXT NOT NULL,
    ready_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    PRIMARY KEY (queue, ready_at, seq)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768479020602, 39, 1768497020602, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768482017569, 13, 1768500017569, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768482017941, 14, 1768500017941, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768482018276, 16, 1768500018276, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768482018292, 17, 1768500018292, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768482019581, 30, 1768500019581, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768489220018, 41, 1768507220018, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768489220142, 42, 1768507220142, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768496418171, 15, 1768514418171, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('default', 1768507218399, 48, 1768525218399, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('ledger', 1768482017335, 11, 1768500017335, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('lines', 1768482018384, 21, 1768500018384, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('lines', 1768482018525, 23, 1768500018525, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('lines', 1768482018709, 25, 1768500018709, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('mail', 1768482016925, 7, 1768500016925, 1, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('mail', 1768482019949, 34, 1768500019949, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('mail', 1768482019985, 37, 1768500019985, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('shop', 1768478450712, 52, 1768496450712, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('shop', 1768478480707, 53, 1768496480707, 0, 0);
INSERT INTO "delayed" ("queue", "ready_at", "seq", "rank", "attempt", "interrupted") VALUES ('shop', 1768492817413, 49, 1768510817413, 0, 0);
CREATE TABLE leases (
    seq INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    nonce TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL
  ) STRICT;
INSERT INTO "leases" ("seq", "queue", "nonce", "claimed_at", "lease_until", "attempt", "interrupted") VALUES (50, 'shop', 'qjOgeOMQOP2df1_h', 1768478420648, 1768478450648, 1, 0);
INSERT INTO "leases" ("seq", "queue", "nonce", "claimed_at", "lease_until", "attempt", "interrupted") VALUES (51, 'default', 'qjOgeOMQOP2df1_h', 1768478420648, 1768478450648, 1, 0);
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
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (11, 'ledger', 'account-1', 'wait', 1, 1768478414830, 1768478414830, NULL, 1, 0);
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (43, 'images', 'large', NULL, 1, 1768496420171, 1768478420171, NULL, 0, 0);
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (44, 'images', 'large', NULL, 0, 1768496420190, 0, NULL, 0, 0);
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (45, 'images', 'small', NULL, 1, 1768496420223, 1768478420223, NULL, 0, 0);
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (46, 'images', 'small', NULL, 0, 1768496420226, 0, NULL, 0, 0);
INSERT INTO "grouped" ("seq", "queue", "name", "ordering", "state", "place", "entered_at", "apart_until", "attempt", "interrupted") VALUES (47, 'ledger', 'account-1', 'wait', 0, 1768478420242, 0, NULL, 0, 0);
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
