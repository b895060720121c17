// Made by `ai-lessons admin hosts --install`. Tells the agent what ai-lessons knows of what it does, and refuses what a
// rule forbids. opencode waits for its plugins and ends a run where one throws: so all is tried, for two seconds.
import { spawn } from "node:child_process"

const PROGRAM = "ai-lessons"
const TOOLS = { bash: "Bash", edit: "Edit", write: "Write", read: "Read" }
const environment = (session) => ({ AI_LESSONS_AGENT: "opencode", AI_LESSONS_SESSION: session ?? "" })

const ask = (session, event) => new Promise((answer) => {
  let out = ""
  const end = (text) => {
    try { const told = JSON.parse(text); answer({ ...told, ...told.hookSpecificOutput }) } catch { answer({}) }
  }
  const env = { ...process.env, ...environment(session) }
  const child = spawn(PROGRAM, ["admin", "agent-hook"], { env, stdio: ["pipe", "pipe", "ignore"] })
  const timer = setTimeout(() => { child.kill("SIGKILL"); end("") }, 2000)
  child.on("error", () => end("")).on("close", () => { clearTimeout(timer); end(out) })
  child.stdout.on("data", (part) => { out += part })
  child.stdin.on("error", () => {}).end(JSON.stringify({ session_id: session, ...event }))
})

const call = (tool, args = {}) => ({
  tool_name: TOOLS[tool] ?? tool.replace("ai-lessons_", "mcp__ai-lessons__"),
  tool_input: args,
})
const SILENT = new Set(["glob", "grep", "list", "webfetch", "websearch", "todowrite", "todoread", "task", "skill", "question"])
const heard = ({ tool }) => !SILENT.has(tool)
const tried = (hook) => async (input, output) => { try { return await hook(input, output) } catch { /* it goes on */ } }

export const AiLessons = async ({ directory: cwd, client }) => {
  const starts = {}, held = {}, calls = {} // of a session: how it begins, what waits for a result; of a call: its input
  const before = tried(async (input, { args }) => {
    calls[input.callID] = call(input.tool, args)
    return heard(input) && ask(input.sessionID, { hook_event_name: "PreToolUse", cwd, ...calls[input.callID] })
  })
  return {
    "experimental.chat.system.transform": tried(async ({ sessionID }, { system }) => {
      if (sessionID) starts[sessionID] ??= ask(sessionID, { hook_event_name: "SessionStart", source: "startup", cwd })
      const told = await starts[sessionID]
      if (told?.additionalContext) system.push(told.additionalContext)
    }),
    "chat.message": tried(async ({ sessionID }, { parts }) => {
      const part = parts.find((part) => part.type === "text" && !part.synthetic)
      const told = part && await ask(sessionID, { hook_event_name: "UserPromptSubmit", prompt: part.text, cwd })
      if (told?.additionalContext) parts.push({ ...part, id: part.id + "0", synthetic: true, text: told.additionalContext })
    }),
    "tool.execute.before": async (input, output) => {
      const told = await before(input, output)
      if (told?.permissionDecision === "deny") throw new Error(told.permissionDecisionReason)
      if (told?.additionalContext) (held[input.sessionID] ??= []).push(told.additionalContext)
    },
    "tool.execute.after": tried(async (input, output) => {
      const tool_response = { output: output.output, exit_code: output.metadata?.exit ?? 0 }
      const event = { hook_event_name: "PostToolUse", cwd, ...calls[input.callID], tool_response }
      const told = heard(input) && await ask(input.sessionID, event)
      const texts = [...(held[input.sessionID] ?? []).splice(0), told.additionalContext ?? ""].filter(Boolean)
      output.output += texts.map((text) => "\n\n" + text).join("")
    }),
    event: tried(async ({ event }) => {
      if (event.type !== "session.idle") return
      const id = event.properties.sessionID
      const told = await ask(id, { hook_event_name: "Stop", cwd })
      if (told.systemMessage) await client.tui.showToast({ body: { message: told.systemMessage, variant: "warning" } })
      const parts = [{ type: "text", text: told.reason, synthetic: true }]
      if (told.decision === "block") await client.session.promptAsync({ path: { id }, body: { parts } })
    }),
    "shell.env": tried(async ({ sessionID }, { env }) => Object.assign(env, environment(sessionID))),
  }
}
