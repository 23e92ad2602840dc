import { callerSlot, type Clock, type Json } from '../../src/plugin-api/index.ts'
import type { Guarded, Verdict } from '../../src/guardrails/index.ts'
import type { ServiceFacet } from './schema.ts'

const answerBytesMax = 16 * 1024 * 1024
const ruleCharsMax = 128

/** Sends texts to the service. @throws Error if it is unavailable, or its answer cannot be read */
export async function askService(
  texts: readonly string[],
  facet: ServiceFacet,
  { about, clock }: { readonly about: Guarded; readonly clock: Clock },
): Promise<Verdict> {
  const stop = new AbortController()
  const limit = clock.after(facet.timeout, () => stop.abort(new Error(`no answer in ${facet.timeout} ms`)))
  try {
    return await ask(texts, facet, about, stop.signal)
  } finally {
    limit.cancel()
  }
}

async function ask(
  texts: readonly string[],
  facet: ServiceFacet,
  about: Guarded,
  signal: AbortSignal,
): Promise<Verdict> {
  const { url, authorization } = facet
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
    body: JSON.stringify(requestOf(texts, facet, about)),
    signal,
    redirect: 'error',
  })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`the service returned ${response.status}`)
  }
  const text = await response.text()
  if (text.length > answerBytesMax) throw new Error('the answer of the service is too long')
  const answer = JSON.parse(text) as Json
  return facet.format === 'tollgate' ? readVerdict(answer, texts.length) : readModeration(answer, texts.length)
}

function requestOf(
  texts: readonly string[],
  { format, model }: ServiceFacet,
  { context, target, side }: Guarded,
): object {
  if (format === 'openai-moderations') return { input: texts, ...(model !== undefined && { model }) }
  const caller = context.slots.get(callerSlot)
  return {
    side,
    texts,
    model: target.model.name,
    operation: context.route.operation,
    request_id: context.id,
    user: caller?.key.user ?? null,
    group: caller?.group.name ?? null,
  }
}

function readVerdict(answer: Json, count: number): Verdict {
  const { action, rule, texts } = membersOf(answer)
  if (action === 'pass') return { kind: 'pass' }
  if (action === 'block') return { kind: 'block', rule: ruleName(rule) }
  const isEdit = action === 'edit' && Array.isArray(texts) && texts.length === count
  if (!isEdit || !(texts as readonly Json[]).every(text => typeof text === 'string'))
    throw new Error('the answer of the service has no action of pass, block, or edit with as many texts as it was sent')
  return { kind: 'edit', texts: texts as unknown as readonly string[] }
}

function readModeration(answer: Json, count: number): Verdict {
  const { results } = membersOf(answer)
  if (!Array.isArray(results) || results.length < Math.min(1, count))
    throw new Error('the answer of the service has no results')
  for (const result of results as readonly Json[]) {
    const { flagged, categories } = membersOf(result)
    if (typeof flagged !== 'boolean') throw new Error('a result of the service has no `flagged`')
    if (!flagged) continue
    const names = Object.entries(membersOf(categories ?? null)).flatMap(([name, isSet]) =>
      isSet === true ? [name] : [],
    )
    return { kind: 'block', rule: ruleName(names.join(', ')) }
  }
  return { kind: 'pass' }
}

function membersOf(value: Json): { readonly [name: string]: Json | undefined } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as { readonly [name: string]: Json })
    : {}
}

function ruleName(rule: Json | undefined): string {
  return typeof rule === 'string' && rule !== '' ? rule.slice(0, ruleCharsMax) : 'moderation'
}
