import {
  type Admits,
  type Body,
  type CompiledConfig,
  defineSlot,
  definePlugin,
  type EncodedForm,
  type RequestContext,
  type FilePart,
  forwardedFilesSlot,
  type Outbound,
  type Part,
  parseBytes,
  type Diagnostic,
  type ServerConfig,
} from '../../src/plugin-api/index.ts'
import { ByteBudget, ByteClaim } from '../../src/wire/index.ts'
import { fail } from './errors.ts'
import { nameFile } from './name-file.ts'
import { parseBoundary } from './parse-boundary.ts'
import { type FormLimits, readForm, textsBytesMax } from './read-form.ts'
import { facet, options } from './schema.ts'
import { SpoolFolder } from './spool-folder.ts'
import { heldBytesMax, Spool } from './spool.ts'
import { baseOf, stripIndex } from './strip-index.ts'
import { writeForm } from './write-form.ts'

type Facet = Admits<typeof facet>
type Form = Extract<Body, { kind: 'form' }>

/** The form of an exchange, so that it is freed in any case. */
const formSlot = defineSlot<Form>('multipart-rewrite/form')
const busyMs = 1_000
/** Bodies of these routes are not forms. */
const passing: ReadonlySet<string> = new Set(['none', 'any'])

/**
 * Reads complete forms, with limits, and writes new ones: never with the client's own encoding, file names or types
 * (`docs/rules.md#image-edits`).
 */
export const multipartRewrite = definePlugin({
  name: 'multipart-rewrite',
  options,
  facet,

  inspect: facet => findClashes(facet),

  create(options, host) {
    const { random } = host
    const { server } = host.plan
    const encode = (parts: readonly Part[]): EncodedForm => writeForm(parts, random)
    const memory = host.keep('memory', () => new ByteBudget())
    const disk = host.keep('disk', () => new ByteBudget())
    const folder = new SpoolFolder(options.spool_dir, random, new ByteClaim(disk, server.spoolBytesMax))
    const limits: FormLimits = {
      textBytesMax: bytesOf(options.text_bytes_max),
      textFields: new Set(options.text_fields),
    }
    /** By operation: the model, and so its family, may follow the files. */
    const limitsOf = new Map<string, FormLimits>()
    for (const { operation, traits, modelField } of host.plan.routes) {
      const fileFields = fileFieldsOf(host.plan, operation)
      const textFields = modelField === undefined ? limits.textFields : new Set([...limits.textFields, modelField])
      limitsOf.set(operation, { ...limits, textFields, fileFields, areImages: traits?.images !== undefined })
    }

    async function readWhole(context: RequestContext, body: Extract<Body, { kind: 'stream' }>): Promise<Form> {
      const boundary = parseBoundary(body.contentType)
      const bytesMax = body.bytes ?? context.route.bodyBytesMax
      const reserve = new Reserve({ memory, disk, folder, server, payer: context.payer }, bytesMax)
      const spool = new Spool(folder, body.bytes, bytesMax)
      const discard = () => {
        spool.discard()
        reserve.free()
      }
      try {
        const parts = await readForm(body.source, boundary, spool, limitsOf.get(context.route.operation) ?? limits)
        reserve.shrink(spool)
        const form: Form = { kind: 'form', parts, encode, discard }
        context.slots.put(formSlot, form)
        return form
      } catch (error) {
        discard()
        throw error
      }
    }

    return {
      onBody: (context, body) =>
        body.kind === 'stream' && !passing.has(context.route.body) && !context.route.object?.unread
          ? readWhole(context, body)
          : body,

      onTarget(context, target, facet: Facet | undefined) {
        if (target.body.kind !== 'form' || !facet) return
        for (const part of target.body.parts) checkPart(facet, part)
        context.slots.put(forwardedFilesSlot, keptFiles(target.body.parts, facet))
      },

      onForward(context, out, facet: Facet | undefined) {
        if (out.body.kind !== 'form' || !facet) return out
        const { parts } = out.body
        const dropped = new Set(parts.filter(part => part.kind === 'file' && !rule(facet, part)).map(part => part.name))
        context.notes.forwarded = context.notes.forwarded.filter(name => !dropped.has(name))
        context.notes.dropped = [...new Set([...context.notes.dropped, ...dropped])]
        return { ...out, body: { ...out.body, parts: chooseFiles(parts, facet) } } satisfies Outbound
      },

      onSettle(context) {
        context.slots.get(formSlot)?.discard()
      },

      close: () => folder.close(),
    }
  },
})

/** The storage of uploads, and the payer. */
type Rooms = {
  readonly memory: ByteBudget
  readonly disk: ByteBudget
  readonly folder: SpoolFolder
  readonly server: ServerConfig
  readonly payer: string
}

/** The part of the shared memory and disk that one upload may take. */
class Reserve {
  readonly #memory: ByteClaim
  readonly #disk: ByteClaim

  /**
   * @param expected bytes that may arrive
   * @throws Failure form_over_capacity, before any byte of the body is read
   */
  constructor({ memory, disk, folder, server, payer }: Rooms, expected: number) {
    this.#memory = new ByteClaim(memory, server.memoryBytesMax, payer)
    this.#disk = new ByteClaim(disk, server.spoolBytesMax, payer)
    const held = Math.min(expected, heldBytesMax + textsBytesMax)
    const spooled = expected > heldBytesMax ? expected : 0
    if (this.#memory.hold(held)) {
      if (this.#disk.hold(spooled)) return
      // Files kept for future uploads are removed for a current one.
      folder.clear()
      if (this.#disk.hold(spooled)) return
    }
    this.free()
    throw fail('form_over_capacity', {}, { retryAfterMs: busyMs })
  }

  /** The form has arrived: returns the part of the reserve that it does not need, or no longer needs. */
  shrink(spool: Spool): void {
    this.#disk.hold(spool.onDisk ? Math.min(spool.bytes, this.#disk.bytes) : 0)
    if (spool.onDisk) this.#memory.hold(Math.min(textsBytesMax, this.#memory.bytes))
  }

  free(): void {
    this.#memory.free()
    this.#disk.free()
  }
}

/** The file fields of all families with the operation, including a family whose models get it translated. */
function fileFieldsOf({ families, models }: CompiledConfig, operation: string): ReadonlySet<string> {
  const fields = new Set<string>()
  const translating = new Set(
    [...models.values()].flatMap(one => (one.accepts?.has(operation) ? [one.family.name] : [])),
  )
  for (const { facets, forward, name } of families.values()) {
    if (forward.size > 0 && !forward.has(operation) && !translating.has(name)) continue
    const own = facets.get('multipart-rewrite') as Facet | undefined
    for (const field of Object.keys(own?.files ?? {})) fields.add(field)
  }
  return fields
}

/** @throws Failure for a text in a file field, and for a file that belongs to such a field and would be dropped */
function checkPart(facet: Facet, part: Part): void {
  const { kind, name } = part
  if (kind === 'text' && rule(facet, part)) throw fail('form_field_is_file', { name }, { param: name })
  const base = baseOf(name)
  if (kind === 'file' && !rule(facet, part) && Object.hasOwn(facet.files, base))
    throw fail('form_field_not_list', { name, wanted: `${base}[]` }, { param: name })
}

function rule(facet: Facet, part: Part): Facet['files'][string] | undefined {
  const base = stripIndex(part.name)
  return Object.hasOwn(facet.files, base) ? facet.files[base] : undefined
}

/** The files that the family accepts: all of a field, or the first. */
function keptFiles(parts: readonly Part[], facet: Facet): ReadonlySet<Part> {
  const kept = new Set<Part>()
  const seen = new Set<string>()
  for (const part of parts) {
    const fileRule = part.kind === 'file' ? rule(facet, part) : undefined
    const base = stripIndex(part.name)
    if (!fileRule || (fileRule.keep === 'first' && seen.has(base))) continue
    seen.add(base)
    kept.add(part)
  }
  return kept
}

/** Texts unchanged, and the accepted files in the order received, with the names that the upstream expects. */
function chooseFiles(parts: readonly Part[], facet: Facet): readonly Part[] {
  const kept = keptFiles(parts, facet)
  const counts = new Map<string, number>()
  for (const part of parts) {
    const base = stripIndex(part.name)
    if (part.kind === 'file') counts.set(base, (counts.get(base) ?? 0) + 1)
  }
  const sent = new Map<string, number>()
  const chosen: Part[] = []
  for (const part of parts) {
    if (part.kind === 'text') chosen.push(part)
    const fileRule = rule(facet, part)
    if (part.kind === 'text' || !fileRule || !kept.has(part)) continue
    const base = stripIndex(part.name)
    const index = sent.get(base) ?? 0
    sent.set(base, index + 1)
    const several = fileRule.keep !== 'first' && (counts.get(base) ?? 0) > 1
    chosen.push(nameFile<FilePart>(part, fieldOf(fileRule.send_as, base, several), base, index))
  }
  return chosen
}

function fieldOf(sendAs: Facet['files'][string]['send_as'], base: string, several: boolean): string {
  if (sendAs === undefined || typeof sendAs === 'string') return sendAs ?? base
  return several ? sendAs.many : sendAs.one
}

/** Two fields that would reach the upstream with the same name. */
function findClashes(facet: Facet): readonly Diagnostic[] {
  const owners = new Map<string, string>()
  const diagnostics: Diagnostic[] = []
  for (const [field, { send_as }] of Object.entries(facet.files)) {
    for (const several of [false, true]) {
      const name = stripIndex(fieldOf(send_as, field, several))
      const owner = owners.get(name) ?? field
      owners.set(name, owner)
      if (owner === field || diagnostics.some(diagnostic => diagnostic.path[1] === field)) continue
      diagnostics.push({
        severity: 'error',
        code: 'GW_FORM_FIELD_CLASH',
        message: `files of '${field}' would be sent with the field name of '${owner}'`,
        remedy: 'use a different field name',
        path: ['files', field, 'send_as'],
      })
    }
  }
  return diagnostics
}

function bytesOf(size: string | number): number {
  return typeof size === 'number' ? size : (parseBytes(size) as number)
}
