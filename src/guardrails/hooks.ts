import { defineSlot, fieldNames, type Hooks, type Log, withFields, withoutLength } from '../plugin-api/index.ts'
import type { Body, Json } from '../domain/index.ts'
import { repeatedNames } from '../util/index.ts'
import type { Guard, Guarded, Verdict } from './contract.ts'
import { fail } from './errors.ts'
import { EventGuard } from './event-guard.ts'
import { findTexts, type FoundText, mayHoldTexts } from './texts.ts'
import { WholeGuard } from './whole-guard.ts'

/**
 * The hooks of a plugin that checks texts. Requests are checked before limits and budgets count them, and edited when
 * they are sent. A stream is held back only until the guard releases its texts; a blocked stream ends with an error in
 * the client's API format. A blocked answer is charged for its use.
 *
 * Place the plugin before the plugins that charge: they have to read the upstream's unchanged answer.
 */
export function guardHooks<Section>(guard: Guard<Section>, log: Log): Hooks<Section> {
  /** The section by which the guard has edited the request's texts. It applies to fallbacks too. */
  const editsSlot = defineSlot<Section>(`guard.${guard.name}`)

  return {
    async onTarget(context, target, section) {
      if (!guard.reads(section, 'request')) return
      const { found } = textsOf(target.body)
      if (found.length === 0) return
      refuseRepeated(target.body)
      const verdict = await judge(guard, section, { context, target, side: 'request' }, found)
      if (verdict.kind === 'edit') context.slots.put(editsSlot, section)
    },

    async onForward(context, out, _section, target) {
      const section = context.slots.get(editsSlot)
      if (section === undefined) return out
      // Checks the body that is sent, because another plugin may have edited it since.
      const { found, fields } = textsOf(out.body)
      const verdict = await judge(guard, section, { context, target, side: 'request' }, found)
      if (verdict.kind !== 'edit') return out
      for (const [i, text] of verdict.texts.entries()) found[i]?.put(text)
      return { ...out, body: withFields(out.body, new Map(Object.entries(fields))) }
    },

    onReply(context, reply, section, target) {
      if (!guard.reads(section, 'response') || reply.status < 200 || reply.status > 299) return reply
      const about: Guarded = { context, target, side: 'response' }
      const type = reply.headers['content-type'] ?? 'application/json'
      const whole = (texts: readonly string[]) => guard.whole(texts, section, about)
      const headers = withoutLength(reply.headers)
      if (type.startsWith('text/event-stream')) {
        const part = (text: string, isEnd: boolean) => guard.part(text, isEnd, section, about)
        const block = (rule: string) => endStream(guard.name, log, about, rule)
        return {
          ...reply,
          headers,
          stages: [...reply.stages, new EventGuard({ part, whole: remembered(whole), block })],
        }
      }
      if (!type.includes('json') && !type.startsWith('text/')) return reply
      const block = (rule: string): never => {
        throw blocked(guard.name, log, about, rule)
      }
      return { ...reply, headers, stages: [...reply.stages, new WholeGuard(type.includes('json'), whole, block)] }
    },
  }
}

/** @throws Failure request_blocked */
async function judge<Section>(
  guard: Guard<Section>,
  section: Section,
  about: Guarded,
  found: readonly FoundText[],
): Promise<Verdict> {
  const verdict = await guard.whole(
    found.map(({ text }) => text),
    section,
    about,
  )
  if (verdict.kind !== 'block') return verdict
  const values = { rule: verdict.rule, guard: guard.name }
  throw fail('request_blocked', values, { values })
}

/**
 * If a name occurs twice, a guard reads the last member, but the upstream may read the first.
 * @throws Failure guarded_name_repeated
 */
function refuseRepeated(body: Body): void {
  if (body.kind !== 'json') return
  const [path] = repeatedNames(body.json.bytes.toString())
  const name = path?.join('.').slice(0, 64)
  if (name !== undefined) throw fail('guarded_name_repeated', { name }, { param: name })
}

/** The texts of a body, and the fields that contain them, which `put` changes. */
function textsOf(body: Body): { readonly found: readonly FoundText[]; readonly fields: { [name: string]: Json } } {
  const fields: { [name: string]: Json } = {}
  for (const name of fieldNames(body).filter(mayHoldTexts)) {
    const value = valueOf(body, name)
    if (value !== undefined) fields[name] = value
  }
  return { found: findTexts(fields), fields }
}

function valueOf(body: Body, name: string): Json | undefined {
  // Also reads fields that are too long for `readField`, so that no text is sent unchecked.
  if (body.kind === 'json') return structuredClone(body.json.get(name))
  if (body.kind !== 'form') return undefined
  for (const part of body.parts) if (part.kind === 'text' && part.name === name) return part.value
  return undefined
}

/**
 * Caches verdicts, because events repeat a text: at its own end, at the end of its item, and at the end of the
 * response.
 */
function remembered(whole: (texts: readonly string[]) => Promise<Verdict> | Verdict): typeof whole {
  const known = new Map<string, Promise<Verdict> | Verdict>()
  return texts => {
    const key = JSON.stringify(texts)
    const verdict = known.get(key) ?? whole(texts)
    known.set(key, verdict)
    return verdict
  }
}

function blocked(guard: string, log: Log, { context, target }: Guarded, rule: string): ReturnType<typeof fail> {
  const values = { rule, guard }
  context.notes.blocked = values
  log.warn({ request: context.id, model: target.model.name, ...values }, 'a guard blocked a response')
  return fail('response_blocked', values, { values })
}

/** @throws Failure response_blocked if the format has no error for a stream */
function endStream(guard: string, log: Log, about: Guarded, rule: string): Buffer {
  const failure = blocked(guard, log, about, rule)
  const { dialect, id, route } = about.context
  const errorEvent = dialect.streamError(failure, id, route.operation)
  if (errorEvent === undefined) throw failure
  return Buffer.from(errorEvent)
}
