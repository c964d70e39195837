/** Toolspan's agent: a minimal loop of model and tools, with limits, scripts and replays. */

export { type Agent, type AgentOptions, type AgentOverDispatcher, type AgentOverLayers, createAgent } from "./agent.ts";
export type { AgentTools } from "./agent-tools.ts";
export { jsonSchemaValidator } from "./json-schema-validator.ts";
export { jsonText } from "./json-text.ts";
export type { Limits } from "./limits.ts";
export type {
  AssistantMessage,
  ContentPart,
  InputMessage,
  Message,
  MessageContent,
  StoredToolCall,
  SystemMessage,
  ToolMessage,
  UserMessage,
} from "./message.ts";
export type { FollowUp, Model, ModelRequest, ModelToolCall, ModelTurn, ModelUsage } from "./model.ts";
export { readTranscripts, type TranscriptLine } from "./read-transcripts.ts";
export { renderResult } from "./render-result.ts";
export { classifyTranscript, type Replay, replayTranscript } from "./replay-transcript.ts";
export type { RunResult } from "./run-result.ts";
export type { RunOptions } from "./run-settings.ts";
export type { StopReason } from "./run-stop.ts";
export { type ScriptedToolCall, type ScriptedTurn, type ScriptStep, scriptedModel } from "./scripted-model.ts";
export type { CallReport } from "./tool-turn.ts";
export { type RecordedTurn, type Transcript, toTranscript } from "./transcript.ts";
export { withAbort } from "./with-abort.ts";
