/** The attributes that the command reads back from spans. */

export const ATTR = {
  agentName: "gen_ai.agent.name",
  conversationId: "gen_ai.conversation.id",
  errorType: "error.type",
  layerArgsChanged: "toolspan.layer.args_changed",
  layerName: "toolspan.layer.name",
  layerSelfTimeMs: "toolspan.layer.self_time_ms",
  layerShortCircuited: "toolspan.layer.short_circuited",
  layerStatus: "toolspan.layer.status",
  operationName: "gen_ai.operation.name",
  sessionId: "toolspan.session_id",
  serviceInstanceId: "service.instance.id",
  status: "toolspan.status",
} as const;

/** Value of `gen_ai.operation.name` on the root span of a dispatch. */
export const EXECUTE_TOOL = "execute_tool";
