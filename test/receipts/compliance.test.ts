// The mapping of receipt fields to what auditors ask: one data file, a page made from it, and no field left out.
import { readFileSync } from "node:fs";
import { RECORD_SCHEMAS, type RecordName } from "@toolspan/receipts";
import { expect, test } from "vitest";

interface Mapping {
  readonly wording: string;
  readonly marks: Readonly<Record<string, string>>;
  readonly sources: readonly {
    readonly id: string;
    readonly source: string;
    readonly asks: string;
    readonly mark: string;
  }[];
  readonly questions: readonly {
    readonly question: string;
    /** A field of `receipt`, or `<record>.<field>` of another record; members below follow after a dot. */
    readonly fields: readonly string[];
    readonly sources: readonly string[];
    readonly gap: string;
  }[];
}

const text = readFileSync(new URL("../../packages/receipts/compliance.json", import.meta.url), "utf8");
const mapping = JSON.parse(text) as Mapping;
const named = mapping.questions.flatMap(({ fields }) => fields);

const fieldsOf = (record: string): readonly string[] =>
  Object.keys((RECORD_SCHEMAS[record as RecordName]?.properties ?? {}) as object);

function exists(field: string): boolean {
  const [first = "", second = ""] = field.split(".");
  return fieldsOf("receipt").includes(first) || fieldsOf(first).includes(second);
}

/** The page as it follows from the data. */
function page(): string {
  const sourceOf = new Map(mapping.sources.map((source) => [source.id, source]));
  const cell = (words: string): string => words.replaceAll("|", "\\|");
  return [
    "# What receipts help evidence",
    "",
    "Made from `packages/receipts/compliance.json`; change that file and run `npx vitest run test/receipts/compliance.test.ts -u`.",
    "",
    mapping.wording,
    "",
    "| question | fields | helps evidence | gap |",
    "| --- | --- | --- | --- |",
    ...mapping.questions.map(({ question, fields, sources, gap }) => {
      const names = sources.map((id) => sourceOf.get(id)?.source ?? "").join("; ");
      return `| ${cell(question)} | ${fields.map((field) => `\`${field}\``).join(", ")} | ${cell(names)} | ${cell(gap)} |`;
    }),
    "",
    "## Sources",
    "",
    "| source | asks | mark |",
    "| --- | --- | --- |",
    ...mapping.sources.map(({ source, asks, mark }) => `| ${cell(source)} | ${cell(asks)} | ${mark} |`),
    "",
    ...Object.entries(mapping.marks).map(([mark, meaning]) => `- **${mark}**: ${meaning}.`),
    "",
  ].join("\n");
}

test("every field of a receipt answers some question", () => {
  const answered = new Set(named.map((field) => field.split(".")[0]));
  expect(fieldsOf("receipt").filter((field) => !answered.has(field))).toEqual([]);
});

test("every field that is named is one of a record", () => {
  expect(named.filter((field) => !exists(field))).toEqual([]);
});

test("every question names a source that is listed, every source is asked by some question, every mark is explained", () => {
  const ids = mapping.sources.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...new Set(mapping.questions.flatMap(({ sources }) => sources))].sort()).toEqual([...ids].sort());
  for (const { mark } of mapping.sources) expect(Object.keys(mapping.marks)).toContain(mark);
});

test("docs/compliance.md is made from it", async () => {
  await expect(page()).toMatchFileSnapshot("../../docs/compliance.md");
});

test("neither says that anybody complies with anything", () => {
  expect(text + page()).not.toMatch(/\b(complies|comply|compliant|conforms|certified)\b/i);
  expect(mapping.wording).toMatch(/^Helps evidence/);
});
