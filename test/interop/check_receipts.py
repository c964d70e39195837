"""Recomputes args_hash, executed_args_hash and result_hash of every receipt from the transcripts they came from.

    python3 check_receipts.py TRANSCRIPTS.jsonl RECEIPTS_DIR [--partial]

Transcripts are runs in OpenAI's chat format, one a line: {"id", "messages"}. Receipts are matched by session and by
the order of the calls in the transcript (iteration, then emit_order), never by call id: ids repeat.
--partial: sessions without receipts are no mismatch. Exit 0: all equal. 1: a mismatch. 2: nothing could be checked.
"""

import argparse
import collections
import json
import pathlib
import sys

try:
    from canonical_reference import NotJson, hash_of, hash_of_text, parse, without
except ModuleNotFoundError as error:
    print(f"cannot check: {error} (pip install rfc8785)", file=sys.stderr)
    sys.exit(2)

Call = collections.namedtuple("Call", "iteration emit_order name arguments answer")


def calls_of(messages):
    """Every call in order, with the answer at its position; None where there is none."""
    calls = []
    iteration = 0
    for at, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        iteration += 1
        wanted = message.get("tool_calls") or []
        answers = []
        for follower in messages[at + 1 : at + 1 + len(wanted)]:
            if follower["role"] != "tool":
                break
            answers.append(text_of(follower["content"]))
        for position, call in enumerate(wanted):
            answer = answers[position] if position < len(answers) else None
            function = call["function"]
            calls.append(Call(iteration, position, function["name"], function["arguments"], answer))
    return calls


def text_of(content):
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def expected_args_hash(raw, redacted):
    if raw.strip() == "":
        return hash_of({})
    try:
        return hash_of(without(parse(raw), redacted))
    except NotJson:
        return hash_of_text(raw)


def read_transcripts(path):
    transcripts = collections.defaultdict(list)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                run = json.loads(line)
                transcripts[str(run["id"])].append(calls_of(run["messages"]))
    return transcripts


def read_receipts(folder):
    """Receipts by session and run, each run in the order in which the model made the calls."""
    runs = collections.defaultdict(list)
    root = pathlib.Path(folder)
    for path in sorted(root.rglob("*.jsonl")) if root.is_dir() else [root]:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                receipt = json.loads(line)
                if receipt.get("record") == "receipt":
                    run = receipt.get("run_id") or (receipt.get("chain") or {}).get("log") or path.name
                    runs[receipt["session_id"], run].append(receipt)
    for receipts in runs.values():
        receipts.sort(key=lambda receipt: (receipt["iteration"], receipt["emit_order"] or 0))
    return runs


def mismatches(call, receipt):
    args = expected_args_hash(call.arguments, receipt.get("args_redacted") or [])
    result = None if call.answer is None else hash_of(call.answer)
    expected = {
        "tool_name": call.name,
        "iteration": call.iteration,
        "emit_order": call.emit_order,
        "args_hash": args,
        # Null where the handler never ran, as for a call without an answer.
        "executed_args_hash": args if receipt["executed_args_hash"] is not None else None,
        "result_hash": result,
    }
    return [f"{field}: {receipt[field]}, expected {value}" for field, value in expected.items() if receipt[field] != value]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transcripts")
    parser.add_argument("receipts")
    parser.add_argument("--partial", action="store_true")
    options = parser.parse_args()
    transcripts = read_transcripts(options.transcripts)
    runs = read_receipts(options.receipts)
    problems = []
    checked = 0
    executed = 0
    for (session, run), receipts in runs.items():
        recorded = transcripts.get(session)
        if not recorded:
            problems.append(f"{session}: receipts of a session that is in no transcript")
            continue
        calls = next((calls for calls in recorded if len(calls) == len(receipts)), recorded[0])
        if len(calls) != len(receipts):
            problems.append(f"{session} run {run}: {len(receipts)} receipts for {len(calls)} calls")
        for number, (call, receipt) in enumerate(zip(calls, receipts)):
            checked += 1
            executed += receipt["executed_args_hash"] is not None
            problems += [f"{session} run {run} call {number}: {problem}" for problem in mismatches(call, receipt)]
    seen = {session for session, _ in runs}
    if not options.partial:
        problems += [f"{session}: no receipts" for session, runs_ in transcripts.items() if session not in seen and any(runs_)]
    for problem in problems:
        print(problem)
    print(f"{checked} receipts of {len(runs)} runs checked ({executed} executed), {len(problems)} mismatches")
    sys.exit(1 if problems else 0 if checked else 2)


if __name__ == "__main__":
    main()
