// Gift requests with better-sqlite3, as durable as the daemon's: WAL, synchronous FULL.
import Database from 'better-sqlite3';

import { CALLER, ITEM, TABLES, rowsOf } from './rows.mjs';

function open(path) {
  const database = new Database(path);
  for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON', 'cache_size = -32768'])
    database.pragma(pragma);
  const inserts = TABLES.map(([name, columns]) =>
    database.prepare(`INSERT INTO ${name} (${columns}) VALUES (${columns.map(() => '?')})`));
  let last = 0;
  return {
    transaction: (body) => database.transaction(body).immediate,
    caller: database.prepare(CALLER),
    item: database.prepare(ITEM),
    insert(caller, item, recipient) {
      rowsOf(++last, caller, item, recipient, Date.now()).forEach((row, table) => inserts[table].run(row));
      return last;
    },
  };
}

/** One transaction for each request. */
export function usual(path) {
  const store = open(path);
  const create = store.transaction((caller, item, recipient) => store.insert(caller, item, recipient));
  return {
    caller: async (hash) => store.caller.get(hash),
    item: async (id) => store.item.get(id),
    create: async (caller, item, recipient) => create(caller, item, recipient),
  };
}

/** One transaction for all requests that arrived meanwhile; key and item are cached. */
export function tuned(path) {
  const store = open(path);
  const createAll = store.transaction((waiting) => waiting.map((one) => store.insert(one.caller, one.item, one.recipient)));
  const cached = (statement, known = new Map()) => async (key) => {
    if (!known.has(key)) known.set(key, statement.get(key));
    return known.get(key);
  };
  let waiting = [];
  const commit = () => {
    const group = waiting;
    waiting = [];
    try {
      const ids = createAll(group);
      group.forEach((one, i) => one.resolve(ids[i]));
    } catch (fault) {
      group.forEach((one) => one.reject(fault));
    }
  };
  return {
    caller: cached(store.caller),
    item: cached(store.item),
    create: (caller, item, recipient) => new Promise((resolve, reject) => {
      if (waiting.push({ caller, item, recipient, resolve, reject }) === 1) setImmediate(commit);
    }),
  };
}
