// The rows of one gift request for one recipient: the same tables and columns that the daemon writes (tests/bench/baseline.c).

export const TABLES = [
  ['gift_request', ['id', 'account_id', 'mode', 'gift_id', 'item_name', 'item_description', 'item_cost', 'shipping_cost',
    'carbon_neutral_cost', 'transaction_fee', 'sender_email', 'sender_name', 'utm_campaign_id', 'created_at'],
    'iitittiiiittti'],
  ['recipient_transaction', ['id', 'request_id', 'position', 'email', 'first_name', 'last_name', 'message', 'generation',
    'status', 'sent_at', 'version'], 'iiittttitii'],
  ['crm_outbox', ['transaction_id', 'mark_seq', 'next_attempt_at', 'attempts', 'lease_owner', 'lease_until', 'last_error'],
    'iiiitit'],
  ['mail_outbox', ['transaction_id', 'state', 'attempt', 'next_attempt_at', 'message_id', 'uncertain_retries', 'last_reply',
    'updated_at', 'lease_owner', 'lease_until'], 'itiitititi'],
];

/** The values of a row of each table, in the order of TABLES. */
export function rowsOf(id, caller, item, recipient, now) {
  return [
    [id, caller.account_id, 'email', item.gift_id, item.name, item.description, item.item_cost, item.shipping_cost,
      item.carbon_neutral_cost, item.transaction_fee, caller.email, caller.name, null, now],
    [id, id, 0, recipient.email, recipient.first_name ?? '', recipient.last_name ?? '', recipient.message, 0, 'sent', now, 1],
    [id, 1, now, 0, '', 0, ''],
    [id, 'queued', 0, now, '', 0, '', now, '', 0],
  ];
}

export const CALLER = `SELECT k.account_id AS account_id, a.email AS email, a.name AS name FROM api_key k
  JOIN account a ON a.id = k.account_id WHERE k.hash = ? AND k.revoked_at IS NULL`;
export const ITEM = `SELECT gift_id, name, description, item_cost, shipping_cost, carbon_neutral_cost, transaction_fee
  FROM gift_item WHERE gift_id = ?`;
