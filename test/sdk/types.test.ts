import { readFile } from 'node:fs/promises'
import t from 'tap'
import { isClientTool } from '../../src/domain/index.ts'

// The types of a new SDK show what its vendor reports and charges. A member or a tool that the gateway does not know
// fails here, before an operator misses it on a bill.

const root = new URL('../../', import.meta.url)

async function readDeclarations(path: string): Promise<string> {
  const text = await readFile(new URL(`node_modules/${path}`, root), 'utf8')
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '')
}

/** The interfaces and classes with such names: each name with the names of its members. */
function membersOf(declarations: string, names: RegExp): readonly (readonly [string, string])[] {
  return [...declarations.matchAll(/(?:interface|class) (\w+)[^{;]*\{([^{}]*)\}/g)].flatMap(
    ([, name = '', body = '']) =>
      names.test(name) ? [...body.matchAll(/^\s*(\w+)\??:/gm)].map(([, member = '']) => [name, member] as const) : [],
  )
}

const openai = ['completions', 'embeddings', 'images', 'audio/transcriptions', 'audio/speech', 'realtime/realtime']
  .map(name => `openai/resources/${name}.d.ts`)
  .concat('openai/resources/responses/responses.d.ts', 'openai/resources/batches.d.ts')

const reports = [
  {
    reader: 'openai-usage.ts',
    types: openai,
    names: /Usage|Tokens?Details$|^Tokens$|^Duration$|^WebSearch$/,
    ignored: {
      // Its name separates two forms of a report.
      type: 'a constant',
      model: 'the model that writes a drawing; a model that the request also runs has the prices of the first',
      // The rest of a count after its priced parts.
      text_tokens: 'the rest',
      cached_text_tokens: 'the rest',
      ttl_30m_tokens: 'the rest of the cache writes',
      // Images are charged one by one.
      image_gen: 'charged by image',
      cached_image_tokens: 'part of image_gen',
      // Predicted tokens are part of the output.
      accepted_prediction_tokens: 'the rest',
      rejected_prediction_tokens: 'the rest',
    },
  },
  {
    reader: 'anthropic-usage.ts',
    types: ['messages/messages', 'beta/messages/messages'].map(name => `@anthropic-ai/sdk/resources/${name}.d.ts`),
    names: /Usage$|CacheCreation$|TokensDetails$/,
    ignored: {
      type: 'the kind of an iteration',
      model: 'the model of an iteration; a model that the request also runs has the prices of the first',
      web_fetch_requests: 'free',
      fallback_credit: 'its cached tokens are reported as such',
      status: 'of fallback_credit',
    },
  },
  {
    reader: 'google-usage.ts',
    types: ['@google/genai/dist/genai.d.ts'],
    names: /^(?:GenerateContentResponse)?UsageMetadata$|^ModalityTokenCount$|^GroundingMetadata$|^GroundingChunk$/,
    ignored: {
      // Part of the prompt's tokens.
      initialPromptTokenCount: 'part of promptTokenCount',
      groundingSupports: 'a text',
      retrievalMetadata: 'a score',
      searchEntryPoint: 'a text',
      googleMapsWidgetContextToken: 'a text',
      sourceFlaggingUris: 'a text',
      retrievalQueries: 'searches of stored files, charged by their tokens',
      retrievedContext: 'a result of such a search',
      total_usage: 'of interactions, which are not offered',
      step_usage: 'of interactions, which are not offered',
    },
  },
] as const

t.test('every member of the reports in the types of the SDKs is read, or known as free', async t => {
  for (const { reader, types, names, ignored } of reports) {
    const source = await readFile(new URL(`src/api-formats/${reader}`, root), 'utf8')
    const known = new Set(Object.keys(ignored))
    const met = new Set<string>()
    for (const path of types) {
      const declarations = await readDeclarations(path)
      // Reports next to the usage have such names too: `svg_usage`, `tool_usage`.
      const named = [...declarations.matchAll(/^ *(\w+_usage)\??:/gm)].map(
        ([, member = '']) => ['any', member] as const,
      )
      for (const [name, member] of [...membersOf(declarations, names), ...named]) {
        met.add(member)
        const isRead = source.includes(`'${member}'`) || member.endsWith('Details')
        t.ok(isRead || known.has(member), `${path}: ${name}.${member} is in ${reader}`)
      }
    }
    t.ok(met.size > 5, `${reader}: types were found`)
    for (const member of known) t.ok(met.has(member), `${reader}: a type has the ignored ${member}`)
  }
})

/** Tools that vendors run; a family lists those that its clients may use (`vendor_tools`). */
const vendorTools: ReadonlySet<string> = new Set(
  [
    'advisor code_execution mcp_toolset tool_search_tool_bm25 tool_search_tool_regex web_fetch web_search',
    'code_interpreter file_search image_generation mcp programmatic_tool_calling tool_search web_search_preview',
    'codeExecution enterpriseWebSearch exaAiSearch fileSearch googleMaps googleSearch googleSearchRetrieval',
    'mcpServers parallelAiSearch retrieval urlContext',
  ].flatMap(names => names.split(' ')),
)

t.test('every tool in the types of the SDKs is known: run by the client, or by the vendor', async t => {
  const tools = [
    ...(await unionTools(
      '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts',
      /^ +tools\?: Array<(BetaTool \|[^>]+)>/m,
    )),
    ...(await unionTools('openai/resources/responses/responses.d.ts', /^export type Tool = ([^;]+);/m)),
    ...membersOf(await readDeclarations('@google/genai/dist/genai.d.ts'), /^Tool$/).map(([, member]) => member),
  ]
  t.ok(tools.length > 40, `${tools.length} tools were found`)
  for (const tool of tools) {
    const isVendors = vendorTools.has(tool.replace(/_20\d\d_?\d\d_?\d\d$/, ''))
    t.not(isClientTool(tool), isVendors, tool)
  }
})

/** The values of `type` of each member of a union. */
async function unionTools(path: string, union: RegExp): Promise<readonly string[]> {
  const declarations = await readDeclarations(path)
  const members = (union.exec(declarations)?.[1] ?? '').split('|').map(name => name.trim().replace(/^.*\./, ''))
  return members.flatMap(name => {
    const body =
      new RegExp(`interface ${name} (?:extends \\w+ )?\\{([\\s\\S]*?)\\n *\\}\\n`).exec(declarations)?.[1] ?? ''
    return [...(/^ *type\??: ([^;]+);/m.exec(body)?.[1] ?? '').matchAll(/'([^']+)'/g)].map(([, type = '']) => type)
  })
}
