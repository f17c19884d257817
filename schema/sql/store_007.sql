-- The latest run of each backfill that was no dry one: what it found and repaired. `seen_at`: when the run last said that it goes
-- on, by the database's clock. `ended_at` is null until the end; `error`: why the run ended before its end. `differing`: what it
-- left for a person to look at; `summary`: the sentence that the command prints.
CREATE TABLE backfill_run (
  name       @id@ PRIMARY KEY NOT NULL,
  started_at BIGINT NOT NULL,
  seen_at    BIGINT NOT NULL,
  ended_at   BIGINT,
  examined   BIGINT NOT NULL,
  repaired   BIGINT NOT NULL,
  differing  BIGINT NOT NULL,
  summary    TEXT NOT NULL,
  error      TEXT NOT NULL
);;

-- The conditions of the status that have begun, until their end was mailed (settings: alerts). `name`: the condition and its object,
-- "sources.failing vendor". `what` and `next_step`: as last seen, a line each. `begin_mailed_at`: null until a mail said that it began.
CREATE TABLE alert (
  name            @id@ PRIMARY KEY NOT NULL,
  what            TEXT NOT NULL,
  next_step       TEXT NOT NULL,
  began_at        BIGINT NOT NULL,
  ended_at        BIGINT,
  begin_mailed_at BIGINT
);;
