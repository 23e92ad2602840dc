/** The address and model for an agent's requests. */
export type AgentTarget = {
  /** Address of the gateway, without a path: `http://127.0.0.1:8080`. */
  readonly url: string
  readonly model: string
}

/** The user's settings: environment variables, and a file if variables are not enough. */
export type AgentSettings = {
  readonly env: { readonly [name: string]: string }
  /** `path` is relative to the home folder with `~/`, else to the project. */
  readonly file?: { readonly path: string; readonly text: string }
}

/**
 * A coding agent that can use the gateway. `docs/agents.md` shows these settings and `npm run test:agents` runs them.
 */
export type Agent = {
  readonly name: string
  readonly title: string
  /** The operation that the family of its model must offer. */
  readonly operation: string
  /** `key` is the shell expression for the API key: `$TOLLGATE_API_KEY`. */
  settings(target: AgentTarget, key: string): AgentSettings
}

export const agents: readonly Agent[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    operation: 'messages',
    settings: ({ url, model }, key) => ({
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_MODEL: model,
        // The agent uses a second model for titles and summaries.
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      },
    }),
  },
  {
    name: 'codex',
    title: 'Codex',
    operation: 'responses',
    settings: ({ url, model }, key) => ({
      env: { TOLLGATE_API_KEY: key },
      file: {
        path: '~/.codex/config.toml',
        text: [
          `model = ${JSON.stringify(model)}`,
          'model_provider = "tollgate"',
          '',
          '[model_providers.tollgate]',
          'name = "Tollgate"',
          `base_url = ${JSON.stringify(`${url}/v1`)}`,
          'env_key = "TOLLGATE_API_KEY"',
          'wire_api = "responses"',
          '',
        ].join('\n'),
      },
    }),
  },
  {
    name: 'gemini-cli',
    title: 'Gemini CLI',
    operation: 'generate',
    settings: ({ url, model }, key) => ({
      env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key, GEMINI_MODEL: model },
      file: {
        path: '~/.gemini/settings.json',
        text: writeJson({ security: { auth: { selectedType: 'gemini-api-key' } } }),
      },
    }),
  },
  {
    name: 'opencode',
    title: 'opencode',
    operation: 'chat',
    settings: ({ url, model }, key) => ({
      env: { TOLLGATE_API_KEY: key },
      file: {
        path: 'opencode.json',
        text: writeJson({
          $schema: 'https://opencode.ai/config.json',
          model: `tollgate/${model}`,
          small_model: `tollgate/${model}`,
          provider: {
            tollgate: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Tollgate',
              options: { baseURL: `${url}/v1`, apiKey: '{env:TOLLGATE_API_KEY}' },
              models: { [model]: { name: model } },
            },
          },
        }),
      },
    }),
  },
  {
    name: 'aider',
    title: 'aider',
    operation: 'chat',
    settings: ({ url, model }, key) => ({
      env: { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key, AIDER_MODEL: `openai/${model}` },
    }),
  },
]

function writeJson(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
