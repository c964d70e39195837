// Laws of withDryRun: the tools it holds back do not run, and their calls say so.
import { createDispatcher } from "@toolspan/core";
import { type DryRunOptions, withDryRun } from "@toolspan/middleware/with-dry-run";
import { expect, it } from "vitest";
import { dispatchOnce, layerContract, optionContract } from "../support/layer-contract.ts";

layerContract("with_dry_run", {
  pass: () => withDryRun({ only: [] }),
  stop: { make: () => withDryRun(), status: "dry_run", layerStatus: "dry_run" },
});

optionContract("withDryRun", [
  ["options", () => withDryRun(null as never)],
  ["only", () => withDryRun({ only: "write" as never })],
  ["only", () => withDryRun({ only: [1 as never] })],
  ["except", () => withDryRun({ except: {} as never })],
  ["skip", () => withDryRun({ skip: [] } as never)],
]);

it.each<[DryRunOptions, string[]]>([
  [{}, ["a", "b", "c"]],
  [{ only: ["a", "b"] }, ["a", "b"]],
  [{ except: ["a"] }, ["b", "c"]],
  [{ only: ["a", "b"], except: ["b"] }, ["a"]],
  [{ only: [] }, []],
])("with %j holds back %j", async (options, heldBack) => {
  const dispatch = createDispatcher([withDryRun(options)]);
  const results = await Promise.all(["a", "b", "c"].map((toolName) => dispatch({ toolName }, () => "ran")));
  expect(results.filter(({ status }) => status === "dry_run").map(({ toolName }) => toolName)).toEqual(heldBack);
});

it("answers with a success that tells the model what would have run", async () => {
  const toolArgs = { path: "/tmp/x" };
  const { result } = await dispatchOnce([withDryRun()], { toolName: "delete_file", toolArgs }, undefined);
  expect(result).toMatchObject({
    ok: true,
    result: { dry_run: true, tool_name: "delete_file", arguments: toolArgs },
    observation: "tool delete_file: dry run, not executed",
    error: null,
  });
});
