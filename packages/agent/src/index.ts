/** Toolspan's agent: a minimal loop of model and tools, with limits, scripts and replays. */

export { type Agent, type AgentOptions, type AgentOverDispatcher, type AgentOverLayers, createAgent } from "./agent.ts";
export { jsonSchemaValidator } from "./json-schema-validator.ts";
export type { FollowUp, Model, ModelRequest, ModelToolCall, ModelTurn, ModelUsage } from "./model/model.ts";
export { classifyTranscript, type Replay, replayTranscript } from "./model/replay-transcript.ts";
export { type ScriptedToolCall, type ScriptedTurn, type ScriptStep, scriptedModel } from "./model/scripted-model.ts";
export type { AgentTools } from "./run/agent-tools.ts";
export type { Limits } from "./run/limits.ts";
export type { RunResult } from "./run/run-result.ts";
export type { RunOptions } from "./run/run-settings.ts";
export type { StopReason } from "./run/run-stop.ts";
export type { CallReport } from "./run/tool-turn.ts";
export { withAbort } from "./run/with-abort.ts";
export { jsonText } from "./transcript/json-text.ts";
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
} from "./transcript/message.ts";
export { readTranscripts, type TranscriptLine } from "./transcript/read-transcripts.ts";
export { renderResult } from "./transcript/render-result.ts";
export { type RecordedTurn, type Transcript, toTranscript } from "./transcript/transcript.ts";
