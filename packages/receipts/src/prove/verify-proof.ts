/** `verifyProof`: checks a receipt's proof offline, with nothing but the proof and the keys that are trusted. */

import { opensCommitment } from "@toolspan/canonical/hash";
import { kindOf, ToolspanError } from "@toolspan/core";
import { parseSignatureLine, SIGNATURE_START, type SignatureLine } from "../keys/signature-line.ts";
import { type NamedCheckpoint, parseCheckpoint } from "../log/checkpoint.ts";
import { isIncluded, leafHash } from "../log/merkle.ts";
import { belongsTo } from "../openings/find-openings.ts";
import type { OpenedField, OpeningLine } from "../openings/opening-line.ts";
import type { LoggedReceipt } from "../records/record.ts";
import { CHECKS, type Checks } from "../verify/checks.ts";
import { type Answer, type Finding, Findings } from "../verify/findings.ts";
import { parseLine } from "../verify/lines/parse-line.ts";
import { Authors } from "../verify/trust/authors.ts";
import { loadTrust } from "../verify/trust/load-trust.ts";
import { parseReceiptProof, parseTlogProof, type ReceiptProof } from "./receipt-proof.ts";

export interface VerifyProofOptions {
  /** As for `verifyLog`. Without it nothing says who signed the head, and the answer is "cannot say". */
  readonly trust?: string;
}

export interface ProofReport {
  /** 0 the receipt stands in a log of a trusted key; 1 something contradicts; 2 it cannot be said. */
  readonly exitCode: 0 | 1 | 2;
  readonly verdict: "PROVED" | "CONTRADICTION" | "CANNOT_SAY";
  /** Does the line stand under the head? */
  readonly integrity: Answer;
  /** Has a trusted key signed the head? */
  readonly authenticity: Answer;
  readonly findings: readonly Finding[];
  readonly notChecked: readonly string[];
  /** Hashes of the receipt that the proof opens with a text. */
  readonly opened: readonly OpenedField[];
  /** What was proved; null unless the line stands under the head. */
  readonly receipt: LoggedReceipt | null;
}

/** @param text The JSON of a `ReceiptProof`. @throws TOOLSPAN_INVALID_OPTION for a bad `trust`. */
export function verifyProof(text: string, { trust }: VerifyProofOptions = {}): ProofReport {
  return checkProof(text, trust, CHECKS);
}

/** As `verifyProof`, with comparisons that a test may leave out. */
export function checkProof(text: string, trust: string | undefined, checks: Checks): ProofReport {
  if (trust !== undefined && (typeof trust !== "string" || trust === "")) {
    const details = {
      subject: "verifyProof",
      option: "trust",
      expected: "a verifier key or a path",
      received: kindOf(trust),
    };
    throw new ToolspanError("TOOLSPAN_INVALID_OPTION", details);
  }
  const trusted = trust === undefined ? null : loadTrust(trust, checks);
  const findings = new Findings();
  const proof = parseReceiptProof(text);
  const parts = proof === null ? null : partsOf(proof);
  if (proof === null || parts === null) {
    findings.add("MALFORMED", PROOF, null, "it is no proof of a receipt: { line, openings, proof }");
    return toReport(findings, { receipt: null, openings: [], trusted: trusted !== null });
  }
  const receipt = checkLine(proof.line, parts, findings);
  if (receipt !== null) for (const opening of proof.openings) checkOpening(opening, receipt, findings);
  trusted?.report(findings);
  if (trusted === null) findings.add("NO_TRUST", PROOF, null, "it was not asked who has signed the head");
  else {
    const authors = new Authors(trusted, checks);
    const { head, body, signatures } = parts;
    if (authors.take(PROOF, { kind: "head", line: 1, head, text: "", body, signatures })) authors.covers(head.size);
    if (receipt !== null) authors.seesAlone(receipt);
    authors.judge(PROOF, findings);
  }
  return toReport(findings, { receipt, openings: proof.openings, trusted: trusted !== null });
}

const PROOF = "proof";
const BODY_LINES = 3;

interface Parts {
  readonly index: number;
  readonly hashes: readonly string[];
  readonly head: NamedCheckpoint;
  /** Latin-1, as `Authors` takes it. */
  readonly body: string;
  readonly signatures: readonly SignatureLine[];
}

function partsOf({ proof }: ReceiptProof): Parts | null {
  const found = parseTlogProof(proof);
  if (found === null || !found.head.endsWith("\n")) return null;
  const lines = found.head.slice(0, -1).split("\n");
  const [origin = "", size = "", root = "", blank] = lines;
  const head = parseCheckpoint(origin, size, root);
  if (head === null || (blank !== "" && blank !== undefined)) return null;
  const marks = lines.slice(BODY_LINES + 1);
  if (!marks.every((line) => line.startsWith(SIGNATURE_START))) return null;
  const signatures = marks.map(parseSignatureLine);
  if (!signatures.every((signature) => signature !== null)) return null;
  const body = Buffer.from(`${origin}\n${size}\n${root}\n`).toString("latin1");
  return { index: found.index, hashes: found.hashes, head, body, signatures };
}

/** The receipt, once it is shown that its very bytes stand under the head. */
function checkLine(text: string, { index, hashes, head }: Parts, findings: Findings): LoggedReceipt | null {
  const bytes = Buffer.from(text);
  const leaf = leafHash(bytes);
  if (!isIncluded(index, head.size, leaf, hashes, head.root)) {
    findings.add("PROOF_MISMATCH", PROOF, null, "it does not lead from the line to the root of the head");
    return null;
  }
  const { record, problem } = parseLine({ bytes, overlong: false, leaf: () => leaf }, false);
  if (problem !== null) findings.add(problem.verdict, PROOF, null, `its line: ${problem.message}`);
  if (record === null) return null;
  if (record.record === "receipt" && record.chain.log === head.log && record.chain.seq === index) return record;
  findings.add("PROOF_MISMATCH", PROOF, null, "its line is no receipt, or says that it stands elsewhere");
  return null;
}

function checkOpening(opening: OpeningLine, receipt: LoggedReceipt, findings: Findings): void {
  const { field, hash, salt, text } = opening;
  const domain = field === "result_hash" ? "result" : "args";
  if (belongsTo(opening, receipt) && (text === null || opensCommitment(hash, { salt, text }, domain))) return;
  findings.add("OPENING_MISMATCH", PROOF, null, `its opening of ${field} does not open what stands in its line`);
}

interface ProofFacts {
  readonly receipt: LoggedReceipt | null;
  readonly openings: readonly OpeningLine[];
  readonly trusted: boolean;
}

function toReport(findings: Findings, { receipt, openings, trusted }: ProofFacts): ProofReport {
  const { exitCode } = findings;
  const refused = findings.has("PROOF_MISMATCH") || findings.has("OPENING_MISMATCH");
  const texts = openings.filter(({ text }) => text !== null);
  return {
    exitCode,
    verdict: exitCode === 0 ? "PROVED" : exitCode === 1 ? "CONTRADICTION" : "CANNOT_SAY",
    integrity: findings.answer("integrity"),
    authenticity: trusted && receipt !== null ? findings.answer("authenticity") : "unknown",
    findings: findings.problems,
    notChecked: [
      ...(trusted ? [] : ["who signed the head: anybody can make a log and prove a line of it"]),
      ...(texts.length === openings.length ? [] : ["what the hashes stand for whose opening holds a salt and no text"]),
      "the other lines of the log, and whether there are newer ones",
      "whether what was recorded is true",
    ],
    opened: receipt === null || refused ? [] : texts.map(({ field }) => field),
    receipt: findings.has("PROOF_MISMATCH") ? null : receipt,
  };
}
