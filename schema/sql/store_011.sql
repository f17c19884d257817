-- Where events of the feed are posted (HOOK-1). `types`: "gift.*,gift_request.held"; empty: all. `account_id`, `organization_id`: whose
-- events; both null: all. `secret`: sealed with the server secret, as is `previous_secret`, which also signs until `previous_until`.
-- `epoch` and `position`: the last event of the feed that was tried or passed. `state`: active, failing or disabled, since
-- `state_since`; `reason`: why it is not active. `failures`: of first attempts, in a row. `attempts`: that were made so far.
CREATE TABLE webhook_endpoint (
  id              @key@,
  name            @id@ NOT NULL UNIQUE,
  url             TEXT NOT NULL,
  types           TEXT NOT NULL,
  account_id      BIGINT,
  organization_id BIGINT,
  is_test         BIGINT NOT NULL,
  secret          TEXT NOT NULL,
  previous_secret TEXT NOT NULL,
  previous_until  BIGINT,
  epoch           BIGINT NOT NULL,
  position        BIGINT NOT NULL,
  state           TEXT NOT NULL,
  state_since     BIGINT NOT NULL,
  reason          TEXT NOT NULL,
  failures        BIGINT NOT NULL,
  next_attempt_at BIGINT NOT NULL,
  attempts        BIGINT NOT NULL,
  created_at      BIGINT NOT NULL,
  created_by      TEXT NOT NULL
);;
INSERT INTO id_block (name, next_id) VALUES ('webhook_endpoint', 1);;

-- Events that failed while their endpoint took others. `attempt`: how many were made. `next_attempt_at` null: given up.
CREATE TABLE webhook_retry (
  endpoint_id     BIGINT NOT NULL,
  seq             BIGINT NOT NULL,
  attempt         BIGINT NOT NULL,
  next_attempt_at BIGINT,
  PRIMARY KEY (endpoint_id, seq)
);;
CREATE INDEX webhook_retry_due ON webhook_retry (endpoint_id, next_attempt_at) WHERE next_attempt_at IS NOT NULL;;

-- Every attempt. `number` counts those of an endpoint. `seq` 0: a test. `status` 0: no response, `error` says why. `response`: the
-- beginning of its body. `failed` 1: the receiver did not take the event.
CREATE TABLE webhook_attempt (
  endpoint_id BIGINT NOT NULL,
  number      BIGINT NOT NULL,
  seq         BIGINT NOT NULL,
  attempt     BIGINT NOT NULL,
  started_at  BIGINT NOT NULL,
  millis      BIGINT NOT NULL,
  status      BIGINT NOT NULL,
  error       TEXT NOT NULL,
  response    TEXT NOT NULL,
  failed      BIGINT NOT NULL,
  PRIMARY KEY (endpoint_id, number)
);;
CREATE INDEX webhook_attempt_failed ON webhook_attempt (endpoint_id, number) WHERE failed = 1;;
CREATE INDEX webhook_attempt_age ON webhook_attempt (started_at);;
