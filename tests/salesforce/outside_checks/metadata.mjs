// node metadata.mjs PROJECT GIFTSYNCCTL SETTINGS: Salesforce's own library for source projects resolves every file of PROJECT, and
// converts it to the same components with the same contents as GIFTSYNCCTL's "crm setup" sends to an org.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { ComponentSet, MetadataConverter, MetadataResolver } from "@salesforce/source-deploy-retrieve";

const require = createRequire(import.meta.url);
const { XMLParser } = require("fast-xml-parser");
const JSZip = require("jszip");
const [project, giftsyncctl, settings] = process.argv.slice(2);
const sources = join(project, "force-app");
const files = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));

// The zip of a deployment, as an org gets it.
async function deployedZip() {
  let zip;
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      if (request.method === "POST") zip = filePart(Buffer.concat(chunks), request.headers["content-type"]);
      const id = "0Af000000000001AAA";
      const deployResult = { id, done: true, status: "Succeeded", success: true, numberComponentsTotal: 1, numberComponentsDeployed: 1, numberComponentErrors: 0 };
      response.writeHead(request.method === "POST" ? 201 : 200, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ id, deployResult }));
    });
  });
  await new Promise((begun) => server.listen(0, "127.0.0.1", begun));
  const url = `http://127.0.0.1:${server.address().port}`;
  const setup = spawn(giftsyncctl, ["--config", settings, "crm", "setup", "--check-only", "--domain", url], { stdio: ["pipe", "ignore", "inherit"] });
  setup.stdin.end("00D000000000001!token\n");
  const code = await new Promise((ended) => setup.on("close", ended));
  server.closeAllConnections();
  server.close();
  assert.equal(code, 0, "giftsyncctl crm setup failed");
  return JSZip.loadAsync(zip);
}

function filePart(body, contentType) {
  const boundary = `--${/boundary=(\S+)/.exec(contentType)[1]}`;
  const begin = body.indexOf("\r\n\r\n", body.indexOf('name="file"')) + 4;
  return body.subarray(begin, body.indexOf(`\r\n${boundary}`, begin));
}

// Elements of other names may come in any order; those of one name are sorted.
const parser = new XMLParser({ parseTagValue: false, trimValues: true });
function canonical(value) {
  if (Array.isArray(value)) return value.map(canonical).sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, canonical([value[name]].flat())]));
}
const contents = (xml) => canonical(parser.parse(xml));

const set = ComponentSet.fromSource(sources);
const components = set.getSourceComponents().toArray();
const everything = components.flatMap((component) => [component, ...component.getChildren()]);
const resolved = new Set(everything.flatMap((component) => [component.xml, component.content]).filter(Boolean));
const unresolved = files(sources).filter((path) => !resolved.has(path)).map((path) => relative(sources, path));
assert.deepEqual(unresolved, [], "files of no component");
for (const path of files(sources)) assert.equal(new MetadataResolver().getComponentsFromPath(path).length, 1, path);

// The names within the files are those of their paths.
const nameOf = { CustomField: "fullName", ValidationRule: "fullName", ListView: "fullName", CompactLayout: "fullName" };
for (const component of everything.filter((one) => nameOf[one.type.name])) {
  const [root] = Object.values(parser.parse(readFileSync(component.xml, "utf8"))).slice(-1);
  assert.equal(root.fullName, component.name, component.xml);
}

const members = (types) => Object.fromEntries([types].flat().map((one) => [one.name, [one.members].flat().sort()]).sort());
const manifest = (await set.getObject()).Package;
const zip = await deployedZip();
const sent = parser.parse(await zip.file("package.xml").async("string")).Package;
assert.deepEqual(members(sent.types), members(manifest.types));
const expected = ["CompactLayout", "CustomApplication", "CustomField", "CustomObject", "CustomTab", "Layout", "ListView", "PermissionSet", "ValidationRule"];
assert.deepEqual(Object.keys(members(sent.types)), expected);

const folder = mkdtempSync(join(tmpdir(), "giftsync-metadata."));
try {
  const { packagePath } = await new MetadataConverter().convert(set, "metadata", { type: "directory", outputDirectory: folder });
  const converted = files(packagePath).map((path) => relative(packagePath, path)).filter((path) => path !== "package.xml").sort();
  const zipped = Object.values(zip.files).filter((file) => !file.dir && file.name !== "package.xml").map((file) => file.name).sort();
  assert.deepEqual(zipped, converted);
  for (const path of converted) assert.deepEqual(contents(await zip.file(path).async("string")), contents(readFileSync(join(packagePath, path), "utf8")), path);
  const count = [manifest.types].flat().reduce((sum, type) => sum + [type.members].flat().length, 0);
  console.log(`metadata: ${files(sources).length} files are ${count} components of ${expected.length} types, none unresolved; giftsyncctl crm setup sends the same in ${zipped.length} files`);
} finally {
  rmSync(folder, { recursive: true });
}
