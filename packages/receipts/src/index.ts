/** Receipts of tool calls: the recorder, the records, the log and its verifier. */

export type { ReceiptPolicy } from "./audit-recorder.ts";
export type { DeliveryCounts } from "./deliver/delivery.ts";
export type { DeliveryOptions } from "./deliver/delivery-endpoint.ts";
export { type ExportOptions, type ExportReport, exportReceipts } from "./deliver/export-receipts.ts";
export type { Undelivered } from "./deliver/forwarder.ts";
export {
  type KeptReason,
  type PrunedLog,
  type PruneOptions,
  type PruneReport,
  pruneReceipts,
} from "./deliver/prune-receipts.ts";
export type { RetryLimits } from "./deliver/retry-waits.ts";
export type { Waiting } from "./deliver/spool.ts";
export type { ReceiptFunction } from "./function-outlet.ts";
export type { HashChoice } from "./hash-choice.ts";
export { type CommandSignerOptions, commandSigner } from "./keys/command-signer.ts";
export { fileSigner } from "./keys/file-signer.ts";
export type { RetiredKeys } from "./keys/retired-keys.ts";
export type { Signer } from "./keys/signer.ts";
export {
  initSigningKey,
  type RotatedKey,
  type RotateOptions,
  rotateSigningKey,
  type SigningKeyFacts,
  showSigningKey,
} from "./keys/signing-keys.ts";
export { type LocalReceiptSink, type LocalReceiptSinkOptions, localReceiptSink } from "./local-receipt-sink.ts";
export { stateRoot } from "./log/state-root.ts";
export { type Erased, type EraseOptions, eraseSubject } from "./openings/erase-subject.ts";
export type { OpenedField, OpeningLine } from "./openings/opening-line.ts";
export type { SubjectOf } from "./openings/opening-store.ts";
export { type MadeProof, type ProveDispatchOptions, proveDispatch } from "./prove/prove-dispatch.ts";
export type { ReceiptProof } from "./prove/receipt-proof.ts";
export { type ProofReport, type VerifyProofOptions, verifyProof } from "./prove/verify-proof.ts";
export type { Chain, Envelope } from "./records/envelope.ts";
export type { Erasure } from "./records/erasure.ts";
export type { JsonSchema } from "./records/field.ts";
export type { Heartbeat } from "./records/heartbeat.ts";
export type { IntentRecord } from "./records/intent.ts";
export type { KeyRotation } from "./records/key-rotation.ts";
export type { LateSettlementRecord } from "./records/late-settlement.ts";
export type { Prune } from "./records/prune.ts";
export type { CompactAudit, CompactLayer, ToolCallReceipt } from "./records/receipt.ts";
export { type LoggedReceipt, type LogRecord, RECORD_SCHEMAS, type RecordName } from "./records/record.ts";
export type { Recovery } from "./records/recovery.ts";
export type { SegmentClose } from "./records/segment-close.ts";
export type { Previous, SegmentOpen, Writer } from "./records/segment-open.ts";
export type { Answer, Finding } from "./verify/findings.ts";
export { type ReadRecord, readRecords } from "./verify/read-records.ts";
export {
  type ReadVerifiedOptions,
  readReceipts,
  readVerified,
  type UnverifiedLines,
  type VerifiedLine,
} from "./verify/read-verified.ts";
export { type Question, VERDICTS, type Verdict, type VerdictFacts } from "./verify/verdicts.ts";
export { verifyLog } from "./verify/verify-log.ts";
export type { VerifyOptions, VerifyProgress } from "./verify/verify-options.ts";
export type { VerifyCounts, VerifyReport } from "./verify/verify-report.ts";
export { type AuditLog, type AuditLogOptions, type ReceiptSink, withAuditLog } from "./with-audit-log.ts";
