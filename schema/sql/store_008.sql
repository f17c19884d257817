-- What of a budget was used when `warned` was reported. After the limit is raised, that use is a smaller part of it, and the parts
-- beyond it are reported again.
ALTER TABLE sending_usage ADD COLUMN warned_gifts BIGINT NOT NULL DEFAULT 0;;
ALTER TABLE sending_usage ADD COLUMN warned_amount BIGINT NOT NULL DEFAULT 0;;
UPDATE sending_usage SET warned_gifts = gifts, warned_amount = amount WHERE warned > 0;;

-- What approvers are mailed of a held gift request beside item and cost. `asked_by`: the account's address and the key or token.
-- `recipient`: the address, if there is one recipient. `reasons`: sentences. `paused_at`: since when the key or token was paused when
-- the notice got into a mail.
ALTER TABLE approver_notice ADD COLUMN asked_by TEXT NOT NULL DEFAULT '';;
ALTER TABLE approver_notice ADD COLUMN recipient TEXT NOT NULL DEFAULT '';;
ALTER TABLE approver_notice ADD COLUMN reasons TEXT NOT NULL DEFAULT '';;
ALTER TABLE approver_notice ADD COLUMN paused_at BIGINT;;
