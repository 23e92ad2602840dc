import { join } from 'node:path'

type Command = { readonly run: string; readonly args: readonly string[] }

/** A version of an agent, as its package manager installs it. */
export type Program = {
  /** A name of `src/cli/agents.ts`. */
  readonly agent: string
  readonly model: string
  readonly version: string
  /** Commands that install it into a folder. */
  install(folder: string): readonly Command[]
  /** The command that gives it one prompt, which it gets on standard input too. */
  command(folder: string, prompt: string): Command
  /** More environment: no questions, no updates. */
  readonly env: { readonly [name: string]: string }
  /** A prompt that makes the agent write `from-the-tool` into `made.txt`. */
  readonly prompt: string
  /** The minimum number of requests for the prompt; 2 when absent, for a tool call and its result. */
  readonly requests?: number
}

const shell = 'echo from-the-tool > made.txt'
const call = (name: string, input: object): string => `Run it. [[call ${name} ${JSON.stringify(input)}]]`
const npm = (spec: string) => (folder: string) => [
  { run: 'npm', args: ['install', '--no-audit', '--no-fund', '--prefix', folder, spec] },
]
const bin = (folder: string, name: string): string => join(folder, 'node_modules/.bin', name)

const codex = (version: string): Program => ({
  agent: 'codex',
  model: 'sim-chat',
  version,
  install: npm(`@openai/codex@${version}`),
  command: (folder, prompt) => ({
    run: bin(folder, 'codex'),
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
  }),
  env: {},
  prompt: call('exec_command', { cmd: shell }),
})

/** Add a version when its users report that it differs. */
export const programs: readonly Program[] = [
  {
    agent: 'claude-code',
    model: 'sim-messages',
    version: '2.1.332',
    install: npm('@anthropic-ai/claude-code@2.1.332'),
    command: (folder, prompt) => ({
      run: bin(folder, 'claude'),
      args: ['-p', prompt, '--output-format', 'json', '--dangerously-skip-permissions'],
    }),
    // It refuses to skip permissions for root outside a sandbox.
    env: { IS_SANDBOX: '1', DISABLE_AUTOUPDATER: '1' },
    prompt: call('Bash', { command: shell, description: 'write a file' }),
  },
  codex('0.130.0'),
  codex('0.171.0'),
  {
    agent: 'gemini-cli',
    model: 'sim-generative',
    version: '0.61.0',
    install: npm('@google/gemini-cli@0.61.0'),
    command: (folder, prompt) => ({
      run: process.execPath,
      args: [bin(folder, 'gemini'), '--yolo', '-p', prompt],
    }),
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    prompt: call('run_shell_command', { command: shell }),
  },
  {
    agent: 'opencode',
    model: 'sim-chat',
    version: '1.18.33',
    install: npm('opencode-ai@1.18.33'),
    // It quotes a prompt among its arguments, so it reads this one from standard input.
    command: folder => ({ run: bin(folder, 'opencode'), args: ['run'] }),
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1' },
    prompt: call('bash', { command: shell, description: 'write a file' }),
  },
  {
    agent: 'aider',
    model: 'sim-chat',
    version: '0.86.2',
    install: folder => [
      { run: 'python3', args: ['-m', 'venv', folder] },
      { run: join(folder, 'bin/pip'), args: ['install', '--quiet', 'aider-chat==0.86.2'] },
    ],
    command: (folder, prompt) => ({
      run: join(folder, 'bin/aider'),
      args: [
        ...'--no-auto-commits --yes-always --no-check-update --no-show-model-warnings'.split(' '),
        ...'--no-show-release-notes --analytics-disable --edit-format whole --message'.split(' '),
        prompt,
      ],
    }),
    env: {},
    // It has no tools: it edits the files whose listings an answer has, and the simulator repeats the prompt.
    prompt: 'Write this file:\n\nmade.txt\n```\nfrom-the-tool\n```\n',
    requests: 1,
  },
]
