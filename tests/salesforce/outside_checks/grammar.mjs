// node grammar.mjs FILE: FILE has a SOQL statement as a JSON text on each line; prints those that Salesforce's own
// grammar refuses, with the reason. Exit code 1: there is one, or there are too few statements.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { SOQLParser } = createRequire(import.meta.url)("@salesforce/soql-common/lib/soql-parser");
const parser = SOQLParser({ isApex: false, isMultiCurrencyEnabled: false, apiVersion: 62.0 });
const faults = (statement) => parser.parseQuery(statement).getParserErrors().map((error) => error.getMessage());

// A parser that accepts everything shows nothing.
for (const wrong of ["SELECT FROM Contact", "SELECT Id FROM Contact WHERE Email = 'a\\q'"])
  if (faults(wrong).length === 0) throw new Error(`the grammar accepts ${wrong}`);

const statements = new Set(readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)));
let refused = 0;
for (const statement of statements) {
  const found = faults(statement);
  if (found.length > 0) console.log(`${statement.slice(0, 300)}: ${found.join("; ")}`);
  refused += found.length > 0 ? 1 : 0;
}
console.log(`${statements.size} statements, ${refused} refused`);
process.exitCode = refused > 0 || statements.size < 100 ? 1 : 0;
