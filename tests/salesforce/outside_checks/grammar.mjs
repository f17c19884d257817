// node grammar.mjs FILE: FILE has a SOQL statement as a JSON text on each line. Each goes through Salesforce's own
// grammar; those that it refuses are printed with the reason. Exit code 1: there is one, or there are too few statements.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { SOQLParser, LowerCasingCharStream } = require("@salesforce/soql-common/lib/soql-parser");
const { SoqlLexer } = require("@salesforce/soql-common/lib/soql-parser/generated/SoqlLexer");
const parser = SOQLParser({ isApex: false, isMultiCurrencyEnabled: false, apiVersion: 62.0 });
const least = 100;

// The parser tells nothing of characters that its lexer drops; it prints them.
function lexicalFaults(statement) {
  const found = [];
  const lexer = new SoqlLexer(new LowerCasingCharStream(statement));
  lexer.removeErrorListeners();
  lexer.addErrorListener({ syntaxError: (...[, , , at, message]) => found.push(`${message} at ${at}`) });
  lexer.getAllTokens();
  return found;
}

function faults(statement) {
  const lexical = lexicalFaults(statement);
  if (lexical.length > 0) return lexical;
  return parser.parseQuery(statement).getParserErrors().map((error) => `${error.getMessage()} at ${error.getCharacterPositionInLine()}`);
}

// A grammar that accepts everything shows nothing.
const wrong = [
  "SELECT FROM Contact",
  "SELECT Id FROM Contact WHERE Email = 'a\\q'",
  "SELECT Id FROM Contact WHERE Email = 'a",
  "SELECT Id FROM Contact WHERE Email = 'O'Hara'",
  "SELECT Id FROM Contact WHERE Email IN ()",
  "SELECT Id FROM Contact WHERE Email = 'a' AND Phone = 'b' OR Phone = 'c'",
  "SELECT Id FROM Contact WHERE CreatedDate >= 2026-01-31T10:00:00",
  "SELECT Id FROM Contact ORDER BY Email NULLS LAST DESC",
  "SELECT Id FROM Contact LIMIT 5 WHERE Email = 'a'",
  "SELECT Id FROM Contact WHERE Email = 'a' #",
];
for (const statement of wrong) if (faults(statement).length === 0) throw new Error(`the grammar accepts ${statement}`);

const statements = new Set(readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)));
let refused = 0;
for (const statement of statements) {
  const found = faults(statement);
  if (found.length > 0) console.log(`${statement.slice(0, 300)}: ${found.join("; ")}`);
  refused += found.length > 0 ? 1 : 0;
}
const objects = [...new Set([...statements].map((statement) => /\bFROM (\w+)/i.exec(statement)?.[1]).filter(Boolean))].sort();
console.log(`grammar: ${statements.size} different statements about ${objects.join(", ")}; ${refused} refused; ${wrong.length} of ${wrong.length} wrong ones refused`);
process.exitCode = refused > 0 || statements.size < least ? 1 : 0;
