// A browser for tests of pages: Debian's Chromium, driven by playwright-core. Reads one JSON command per line
// on stdin and writes one JSON result per line on stdout.
//
//   visit     opens a URL in a fresh browser (size, light or dark, with or without JavaScript), performs the actions and returns
//             the text, axe-core's violations, the horizontal overflow and the requests
//   validate  html-validate's errors in a text
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { HtmlValidate } from "html-validate";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// Trailing blanks may come from the sender.
const html = new HtmlValidate({ extends: ["html-validate:recommended"], rules: { "no-trailing-whitespace": "off" } });
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium", headless: true,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"],
});

const actions = {
  click: (page, selector) => page.click(selector),
  fill: (page, [selector, text]) => page.fill(selector, text),
  tap: (page, selector) => page.tap(selector),
  check: (page, selector) => page.check(selector),
  press: (page, key) => page.keyboard.press(key),
  submitted: (page, query) => page.waitForURL((url) => url.search === query),
  seen: (page, text) => page.getByText(text).first().waitFor(),
  // A link scanner: scripts run without a user.
  idle: (page) => page.evaluate(() => { window.scrollTo(0, 9999); document.dispatchEvent(new Event("pointerdown")); document.body.click(); }),
  mobile_tap: (page) => page.touchscreen.tap(20, 20),
  network_idle: (page) => page.waitForLoadState("networkidle"),
};

// Presses Tab until the focus is on an element with this text.
async function tabTo(page, text) {
  for (let step = 0; step < 20; ++step) {
    await page.keyboard.press("Tab");
    const there = await page.evaluate((wanted) => {
      const at = document.activeElement;
      const style = at && getComputedStyle(at);
      return at && (at.textContent + (at.labels?.[0]?.textContent ?? "")).includes(wanted)
        ? { visible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 } : null;
    }, text);
    if (there) {
      if (!there.visible) throw new Error(`the focus on "${text}" cannot be seen`);
      return;
    }
  }
  throw new Error(`the Tab key never comes to "${text}"`);
}

async function visit({ url, content, width = 390, height = 844, dark = false, js = true, touch = false, language = "en-US",
                       does = [], check = true, picture, screenshot, cookies = [] }) {
  const context = await browser.newContext({
    viewport: { width, height }, colorScheme: dark ? "dark" : "light", javaScriptEnabled: js, hasTouch: touch, locale: language,
    reducedMotion: "reduce",
  });
  try {
    await context.addCookies(cookies);
    const page = await context.newPage();
    page.setDefaultTimeout(15000);
    const requests = [], errors = [];
    page.on("request", (request) => requests.push(`${request.method()} ${request.url()}`));
    page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
    if (picture) {
      await page.route(/^https:/, (route) => route.fulfill({ contentType: "image/svg+xml", body: picture }));
    }
    const first = content ? await page.goto("data:text/html," + encodeURIComponent(content)) : await page.goto(url);
    for (const [name, value] of does) {
      if (name === "tab_to") await tabTo(page, value);
      else await actions[name](page, value);
    }
    const answer = { url: page.url(), status: first?.status(), requests, errors, text: await page.innerText("body"),
                     html: await page.content(), headers: (await first?.allHeaders()) ?? {} };
    if (check) {
      answer.sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      answer.tables_sideways = await page.evaluate(() => Math.max(0, ...[...document.querySelectorAll(".scroll")].map((one) => one.scrollWidth - one.clientWidth)));
      answer.shown = await page.evaluate(() => [...document.images].map((image) => image.naturalWidth > 0));
      // axe-core needs JavaScript: it checks the same page in a browser that has it.
      const seen = js ? page : await (await browser.newContext({ viewport: { width, height } })).newPage();
      if (!js) await seen.goto(page.url());
      await seen.evaluate(axe);
      const found = await seen.evaluate(() => axe.run({ resultTypes: ["violations"] }));
      if (!js) await seen.context().close();
      answer.violations = found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" | ")}`);
    }
    if (screenshot) await page.screenshot({ path: screenshot, fullPage: true });
    return answer;
  } finally {
    await context.close();
  }
}

async function validate({ text }) {
  const report = await html.validateString(text);
  return report.results.flatMap((one) => one.messages).map((one) => `${one.line}:${one.column} ${one.ruleId}: ${one.message}`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    const late = new Promise((_, reject) => setTimeout(reject, 40000, new Error("it takes too long")).unref());
    answer = await Promise.race([command.do === "visit" ? visit(command) : validate(command), late]);
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await browser.close();
