// Gift requests with pg.
import pg from 'pg';

import { CALLER, ITEM, TABLES, rowsOf } from './rows.mjs';

pg.types.setTypeParser(pg.types.builtins.INT8, Number);

const numbered = (sql) => sql.replace('?', '$1');

/** A libpq connection string of "key=value" words, as node's pg understands it. */
function options(connection) {
  const names = { host: 'host', port: 'port', dbname: 'database', user: 'user', password: 'password' };
  return Object.fromEntries(connection.split(/\s+/).filter(Boolean).map((word) => {
    const [key, value] = [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)];
    return [names[key] ?? key, value];
  }));
}

/** One transaction for each request, on a pool of ten connections. */
export function usual(connection) {
  const pool = new pg.Pool({ ...options(connection), max: 10 });
  const inserts = TABLES.map(([name, columns]) => ({
    name,
    text: `INSERT INTO ${name} (${columns}) VALUES (${columns.map((_, i) => `$${i + 1}`)})`,
  }));
  let last = 0;
  const first = async (name, sql, value) =>
    (await pool.query({ name, text: numbered(sql), values: [value] })).rows[0];
  return {
    caller: (hash) => first('caller', CALLER, hash),
    item: (id) => first('item', ITEM, id),
    async create(caller, item, recipient) {
      const client = await pool.connect();
      const id = ++last;
      try {
        await client.query('BEGIN');
        for (const [table, row] of rowsOf(id, caller, item, recipient, Date.now()).entries())
          await client.query({ ...inserts[table], values: row });
        await client.query('COMMIT');
        return id;
      } catch (fault) {
        await client.query('ROLLBACK');
        throw fault;
      } finally {
        client.release();
      }
    },
  };
}

/** One statement for all requests that arrived while the last one was committed; key and item are cached. */
export function tuned(connection) {
  const pool = new pg.Pool({ ...options(connection), max: 2 });
  let place = 0;
  const parts = TABLES.map(([name, columns, types]) => {
    const arrays = [...types].map((type) => `$${++place}::${type === 'i' ? 'bigint' : 'text'}[]`);
    return `INSERT INTO ${name} (${columns}) SELECT * FROM unnest(${arrays})`;
  });
  const text = `WITH ${parts.slice(0, -1).map((part, i) => `t${i} AS (${part})`)} ${parts.at(-1)}`;
  const cached = (sql, known = new Map()) => (key) => {
    if (!known.has(key))
      known.set(key, pool.query(numbered(sql), [key]).then(({ rows }) => rows[0]));
    return known.get(key);
  };
  let last = 0;
  let waiting = [];
  let isCommitting = false;
  async function commit() {
    isCommitting = true;
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      const now = Date.now();
      const rows = group.map((one) => rowsOf(one.id, one.caller, one.item, one.recipient, now));
      const values = TABLES.flatMap(([, columns], table) =>
        columns.map((_, column) => rows.map((row) => row[table][column])));
      try {
        await pool.query({ name: 'group', text, values });
        group.forEach((one) => one.resolve(one.id));
      } catch (fault) {
        group.forEach((one) => one.reject(fault));
      }
    }
    isCommitting = false;
  }
  return {
    caller: cached(CALLER),
    item: cached(ITEM),
    create: (caller, item, recipient) => new Promise((resolve, reject) => {
      waiting.push({ id: ++last, caller, item, recipient, resolve, reject });
      if (!isCommitting) setImmediate(() => isCommitting || commit());
    }),
  };
}
