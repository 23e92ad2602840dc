import { createHash } from 'node:crypto'
import { basename, dirname, relative, resolve } from 'node:path'
import {
  applyEdits,
  type ConfigEdit,
  type ConfigTexts,
  describeChanges,
  type Editable,
  type Edited,
  type FileDiff,
  type Finding,
  readEditable,
  showDiff,
  shownLines,
} from '../config/index.ts'
import type { CompiledConfig } from '../domain/index.ts'
import { readRegular } from '../util/index.ts'
import type { ConfigSource } from './config-source.ts'
import type { ReloadResult } from './reload-result.ts'
import { replaceFiles, type Replacement, whyNotWritable, WriteError } from './write-files.ts'

/** The result of a change of the configuration, before it is made. */
export type Proposal = {
  /**
   * The hash of the texts that the change is based on. The write repeats it, so that newer texts are not overwritten.
   */
  readonly base: string
  /** Whether the gateway would accept the result. */
  readonly ok: boolean
  readonly findings: readonly Finding[]
  /** The differences in meaning, one line each. */
  readonly changes: readonly string[]
  readonly files: readonly FileDiff[]
  /** For `patch -p1` in the folder of the main file; null if it would contain a secret. */
  readonly patch: string | null
  readonly notes: readonly string[]
}

export type NotProposed = { readonly why: string; readonly edit: ConfigEdit | undefined }

/** The reason why the console cannot write. */
export type NotWritten = { readonly reason: 'off' | 'no-file' | 'read-only'; readonly detail: string }

export type Written =
  | {
      readonly kind: 'written'
      readonly files: readonly string[]
      /** Path of the backup. */
      readonly backups: readonly string[]
      readonly changes: readonly string[]
      /** Undefined if another process reads the file. */
      readonly revision: string | undefined
    }
  | {
      readonly kind: 'refused'
      readonly findings: readonly Finding[]
      /** Files that still have the new text, because others saved them before they could be restored. */
      readonly left?: { readonly files: readonly string[]; readonly changes: readonly string[] }
    }
  | { readonly kind: 'changed'; readonly file: string; readonly detail: string }
  | { readonly kind: 'read-only'; readonly file: string; readonly detail: string }

type Judged = Awaited<ReturnType<ConfigSource['judge']>>

type Made = {
  readonly proposal: Proposal
  readonly edited: Extract<Edited, { ok: true }>
}

/** Proposes changes to the configuration files, and writes them if that is allowed. */
export class ConfigEditor {
  readonly #source: ConfigSource
  readonly #plan: () => CompiledConfig
  readonly #reload: ((by: string) => Promise<ReloadResult>) | undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    source: ConfigSource,
    plan: () => CompiledConfig,
    reload: ((by: string) => Promise<ReloadResult>) | undefined,
  ) {
    this.#source = source
    this.#plan = plan
    this.#reload = reload
  }

  /** The editable entries as written. @throws Error if the files are unreadable */
  async list(): Promise<{ readonly base: string } & Editable> {
    const { texts, ...list } = await readEditable(await this.#source.texts(), this.#source.env)
    return { base: baseOf(texts), ...list }
  }

  async propose(edits: readonly ConfigEdit[]): Promise<Proposal | NotProposed> {
    const made = await this.#make(edits)
    return 'why' in made ? made : made.proposal
  }

  /** The plan after a change, without starting anything. */
  async planOf(edits: readonly ConfigEdit[]): Promise<Judged | NotProposed> {
    const edited = await applyEdits(await this.#source.texts(), this.#source.env, edits)
    return edited.ok ? this.#source.judge(edited.texts, this.#plan()) : { why: edited.why, edit: edited.edit }
  }

  /** Undefined if the files can be written. */
  async whyNot(): Promise<NotWritten | undefined> {
    if (!this.#plan().server.consoleEdits) return { reason: 'off', detail: 'server.console_edits is off' }
    if (!this.#source.onDisk) return { reason: 'no-file', detail: 'the configuration was passed as text' }
    const detail = await whyNotWritable(this.#source.file)
    return detail === undefined ? undefined : { reason: 'read-only', detail }
  }

  /**
   * Writes a change that was proposed for `base`, and reloads, one change at a time. Both succeed, or nothing changes.
   */
  write(edits: readonly ConfigEdit[], base: string, by: string): Promise<Written | NotProposed> {
    const next = this.#turn.then(() => this.#write(edits, base, by))
    this.#turn = next.catch(() => undefined)
    return next
  }

  async #write(edits: readonly ConfigEdit[], base: string, by: string): Promise<Written | NotProposed> {
    const made = await this.#make(edits)
    if ('why' in made) return made
    const { proposal, edited } = made
    const { file } = this.#source
    if (proposal.base !== base) return { kind: 'changed', file, detail: 'the files have changed in the meantime' }
    if (!proposal.ok) return { kind: 'refused', findings: proposal.findings }
    try {
      const files = await Promise.all(
        edited.changed.map(async path => replacementOf(path, edited.before, edited.texts)),
      )
      const backups = await replaceFiles(files)
      const reloaded = await this.#reload?.(by)
      if (reloaded && !reloaded.ok) {
        // A problem that the check could not find, so the old files are restored.
        const { findings } = reloaded
        try {
          await replaceFiles(
            files.map(({ path, before, after }) => ({ path, before: after, after: before })),
            true,
          )
          return { kind: 'refused', findings }
        } catch (error) {
          if (!(error instanceof WriteError)) throw error
          return { kind: 'refused', findings, left: { files: edited.changed, changes: proposal.changes } }
        }
      }
      return {
        kind: 'written',
        files: edited.changed,
        backups,
        changes: proposal.changes,
        revision: reloaded?.revision,
      }
    } catch (error) {
      if (error instanceof WriteError) return { kind: error.kind, file: error.path, detail: error.message }
      throw error
    }
  }

  async #make(edits: readonly ConfigEdit[]): Promise<Made | NotProposed> {
    const { env } = this.#source
    const edited = await applyEdits(await this.#source.texts(), env, edits)
    if (!edited.ok) return { why: edited.why, edit: edited.edit }
    const { before } = edited
    const [was, is] = [
      await this.#source.judge(before, this.#plan()),
      await this.#source.judge(edited.texts, this.#plan()),
    ]
    const [linesBefore, linesAfter] = await Promise.all([shownLines(before, env), shownLines(edited.texts, env)])
    const folder = dirname(resolve(this.#source.file))
    const files = edited.changed.map(path => {
      const name = relative(folder, path) || basename(path)
      const [old, now] = [textOf(before, path), textOf(edited.texts, path)]
      return showDiff(
        name,
        { text: old, lines: linesBefore.get(path) ?? [] },
        { text: now, lines: linesAfter.get(path) ?? [] },
      )
    })
    const patches = files.map(({ patch }) => patch)
    const proposal: Proposal = {
      base: baseOf(before),
      ok: is.ok,
      findings: is.ok ? is.notes : is.findings,
      changes: is.ok ? describeChanges(was.ok ? was.plan : this.#plan(), is.plan) : [],
      files,
      patch: patches.includes(undefined) ? null : patches.join(''),
      notes: edited.notes,
    }
    return { proposal, edited }
  }
}

const mark = '\uFEFF'

function textOf({ file, text, parts = {} }: ConfigTexts, path: string): string {
  return (path === resolve(file) ? text : (parts[path] ?? '')).replace(mark, '')
}

/** The replacement of a file on disk, which keeps its byte order mark. */
async function replacementOf(
  path: string,
  before: ConfigTexts,
  after: Extract<Edited, { ok: true }>['texts'],
): Promise<Replacement> {
  const old = await readRegular(path)
  const start = old.startsWith(mark) ? mark : ''
  if (old !== start + textOf(before, path)) throw new WriteError('changed', path, 'it has changed in the meantime')
  return { path, before: old, after: start + textOf(after, path) }
}

/** Includes all texts, so that a change of any text changes the base. */
function baseOf({ file, text, parts = {} }: ConfigTexts): string {
  const all = [[resolve(file), text], ...Object.entries(parts).sort(([a], [b]) => (a < b ? -1 : 1))]
  return createHash('sha256').update(JSON.stringify(all)).digest('base64url').slice(0, 22)
}
