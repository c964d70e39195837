// Agent-like payloads of about 200 B, 4 KB and 256 KB of JSON: nested, part of it not ASCII, the same in every run.

let seed = 42;
const random = () => {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  return seed / 0x7fffffff;
};

const WORDS =
  'search query title snippet path line error retry cache token branch commit author naïve 東京 emoji😀 "quoted" tab\t'.split(
    " ",
  );

function text(length) {
  let out = "";
  while (out.length < length) out += `${WORDS[Math.floor(random() * WORDS.length)]} `;
  const cut = out.slice(0, length);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

const item = (i) => ({
  title: text(40),
  url: `https://example.test/${i}/${Math.floor(random() * 1e6)}`,
  score: random(),
  line: Math.floor(random() * 5000),
  ok: random() > 0.5,
  snippet: text(120),
  tags: [`a${i}`, "b", "c"],
  meta: { updatedAt: "2026-11-30T10:00:00.000Z", author: text(12), nested: { depth: 2, empty: null } },
});

function payload(bytes) {
  const base = {
    requestId: "req_01HZX",
    tool: "web_search",
    query: text(60),
    limit: 10,
    filters: { lang: "en", safe: true },
  };
  if (bytes <= 500) return base;
  const results = [];
  for (let size = 0, i = 0; size < bytes - 200; i += 1) {
    const next = item(i);
    results.push(next);
    size += Buffer.byteLength(JSON.stringify(next)) + 1;
  }
  return { ...base, results };
}

export const payloads = { small: payload(200), medium: payload(4096), large: payload(262144) };
