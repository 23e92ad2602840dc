import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'
import { operations } from '../../src/operations/index.ts'

const root = resolve(import.meta.dirname, '../..')
const { stdout } = await promisify(execFile)('git', ['ls-files', '-z', 'src', 'plugins'], { cwd: root })
const files = stdout
  .split('\0')
  .filter(file => /\.(?:tsx?|json)$/.test(file) && !/^src\/operations\/|^src\/storage\/migrations\//.test(file))

const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8').catch(() => '')

/**
 * Quoted words that equal names of operations but have another meaning, or that are needed in their place; with the
 * reason.
 */
const exceptions: { readonly [file: string]: { readonly names: readonly string[]; readonly reason: string } } = {
  'src/plugin-api/asked-size.ts': {
    names: ['image.generate', 'image.edit'],
    reason: 'the default of applies_to: a value of the file, which says it where the file does not',
  },
  'src/admin/openapi/gateway-paths.ts': { names: ['responses'], reason: 'a member of an OpenAPI operation' },
  'src/console/prerendered/endpoint.tsx': { names: ['responses'], reason: 'a section of an OpenAPI document' },
  'src/tools/import/families.ts': {
    names: [
      'audio.speech',
      'audio.transcribe',
      'chat',
      'embeddings',
      'messages',
      'rerank',
      'responses',
      'speech-to-text',
      'text-to-speech',
    ],
    reason: 'families and formats of the file that is written, and modes of the one that is read',
  },
  'src/tools/import/import-litellm.ts': { names: ['chat'], reason: 'a family of the file that is written' },
  'src/tools/import/new-api/import-new-api.ts': { names: ['chat'], reason: 'a family of the file that is written' },
  'src/cli/agents.ts': {
    names: ['chat', 'generate', 'messages', 'responses'],
    reason: 'the API format of each agent, which only its settings know',
  },
  'plugins/format-bridge/formats.ts': {
    names: ['generate', 'generate.count', 'messages', 'messages.count', 'responses', 'responses.tokens'],
    reason: 'the operations whose requests count tokens, each with the format of that request',
  },
  'plugins/format-bridge/chat/index.ts': { names: ['chat'], reason: 'the format that the adapter translates' },
  'plugins/format-bridge/embeddings/google.ts': {
    names: ['embeddings', 'generate.embed'],
    reason: 'the format that is translated, and a member of its responses',
  },
  'plugins/format-bridge/embeddings/openai.ts': { names: ['embeddings'], reason: 'the format that is translated' },
  'plugins/format-bridge/speech/openai.ts': { names: ['audio.speech'], reason: 'the format that is translated' },
  'plugins/format-bridge/speech/elevenlabs.ts': { names: ['text-to-speech'], reason: 'the format that is translated' },
  'plugins/format-bridge/transcripts/openai.ts': {
    names: ['audio.transcribe'],
    reason: 'the format that is translated',
  },
  'plugins/format-bridge/transcripts/elevenlabs.ts': {
    names: ['speech-to-text'],
    reason: 'the format that is translated',
  },
  'plugins/format-bridge/messages/index.ts': {
    names: ['messages'],
    reason: 'the format that the adapter translates, and a field of its requests',
  },
  'plugins/format-bridge/generate/index.ts': { names: ['generate'], reason: 'the format that the adapter translates' },
  'plugins/format-bridge/responses/index.ts': {
    names: ['responses'],
    reason: 'the format that the adapter translates',
  },
  'plugins/format-bridge/messages/write-cache.ts': { names: ['messages'], reason: 'a field of a request' },
  'plugins/format-bridge/drop-translated-thoughts.ts': { names: ['messages'], reason: 'a field of a request' },
  'plugins/format-bridge/messages/parse-request.ts': { names: ['messages'], reason: 'a field of a request' },
  'plugins/format-bridge/chat/parse-request.ts': { names: ['messages'], reason: 'a field of a request' },
  'src/guardrails/texts.ts': { names: ['messages'], reason: 'a field of a request' },
  'src/cli/program.ts': { names: ['chat'], reason: 'the word after `explain`' },
  'src/tools/import/litellm-prices.ts': {
    names: ['chat', 'rerank', 'speech-to-text', 'text-to-speech'],
    reason: 'modes of the file that is read, by families of the one that is written',
  },
  'src/tools/prices/litellm-table.ts': {
    names: ['chat', 'rerank'],
    reason: 'modes of the table that is read',
  },
  'src/tools/import/new-api/read-options.ts': { names: ['chat'], reason: 'a mode of tables of prices' },
  'src/tools/import/litellm-deployments.ts': { names: ['chat'], reason: 'a mode of the file that is read' },
  'src/tools/import/litellm-clouds.ts': {
    names: ['chat', 'generate', 'generate.count', 'generate.embed', 'messages', 'messages.count'],
    reason: 'operations of the file that is written, and a mode of the one that is read',
  },
  'src/tools/import/price-table.ts': {
    names: ['speech-to-text', 'text-to-speech'],
    reason: 'families of the file that is written',
  },
  'src/tools/import/litellm-defaults.ts': {
    names: [
      'audio.speech',
      'audio.transcribe',
      'chat',
      'embeddings',
      'image.generate',
      'messages',
      'responses',
      'speech-to-text',
      'text-to-speech',
    ],
    reason: 'operations of the file that is written, by parameters of the one that is read',
  },
  'src/tools/import/litellm-vendors.ts': { names: ['chat'], reason: 'a mode of the file that is read' },
}

/** Simulated upstreams match on paths, and these words are parts of paths. */
const wire = /^src\/simulator\//

const quoted = new RegExp(`(['"\`])(${operations.map(({ name }) => RegExp.escape(name)).join('|')})\\1`, 'g')

/** The operations that a piece of code names, without comments. */
function namesIn(text: string): readonly string[] {
  const code = text.split('\n').filter(line => !/^\s*(?:\*|\/\/|\/\*)/.test(line))
  return [...new Set([...code.join('\n').matchAll(quoted)].map(([, , name = '']) => name))]
}

t.test('an operation is named only in its own file', async t => {
  t.strictSame(namesIn("if (operation === 'responses') return // 'chat'"), ['responses', 'chat'])
  t.strictSame(namesIn("// 'chat'\nconst conversation = 1"), [])
  t.ok(files.length > 300)
  for (const file of files.filter(file => !wire.test(file)))
    t.strictSame(namesIn(await read(file)).toSorted(), (exceptions[file]?.names ?? []).toSorted(), file)
})

t.test('the engine does not know the traits of an operation', async t => {
  for (const file of files.filter(file => file.startsWith('src/engine/')))
    t.notMatch(await read(file), /\.traits\b|\bimages?\b/i, file)
})

t.test('the name of an operation, or of the objects it works on, is the name of its file', async t => {
  for (const { name } of operations) {
    const words = name.split('.')
    const own = words.map((_, last) => `src/operations/${words.slice(0, last + 1).join('-')}.ts`)
    const naming = (await Promise.all(own.map(read))).filter(text => text.includes(`name: '${name}',`))
    t.equal(naming.length, 1, name)
  }
  t.equal(new Set(operations.map(({ name }) => name)).size, operations.length)
})

t.test('the shipped routes and the operations match', async t => {
  const { routes } = parse(await read('gateway.yaml')) as {
    routes: { match: string | string[]; operation: string; body?: string }[]
  }
  t.strictSame(
    [...new Set(routes.map(route => route.operation))].toSorted(),
    operations.map(({ name }) => name).toSorted(),
  )
  for (const { name, path, body, method = body === 'none' ? 'GET' : 'POST' } of operations) {
    const own = routes.filter(route => route.operation === name)
    t.ok(
      own.some(({ match }) => [match].flat()[0] === `${method} ${path}`),
      `${name} is asked for at ${path}`,
    )
    t.ok(
      own.every(route => (route.body ?? (method === 'POST' || method === 'PATCH' ? 'json' : 'none')) === body),
      `${name} has a body of ${body}`,
    )
  }
})
