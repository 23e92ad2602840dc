import { isDeepStrictEqual } from 'node:util'
import type { Json, StoredEvent } from '../../domain/index.ts'
import type { AnswerOf } from '../../util/index.ts'
import { editableAnswer, proposalAnswer, writtenAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { type Edits, editsOf, refuseEdit } from '../config-edits.ts'
import { fail } from '../errors.ts'
import { findingRecord } from '../finding-record.ts'
import type { AdminParts } from '../parts.ts'
import { refuse } from '../reasons.ts'
import { passwordGuess } from '../schemas.ts'
import { needFreshSignIn } from '../session/need-fresh-sign-in.ts'
import { sessionUserOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'
import { WorkQueue } from '../work-queue.ts'

/** One instance for each gateway. Its requests wait for each other: each reads the files again for every step. */
export function configEditRoutes() {
  const queue = new WorkQueue()
  /** Writes edits to the version `base` of the files, and records them. */
  const write = async (request: AdminRequest, edits: Edits, base: string) => {
    const { parts } = request
    const before = parts.plan().revision
    const refusedBefore = await lastRefusal(parts)
    const by = sessionUserOf(request).user.name
    const written = await queue.run(() => parts.edits.write(edits, base, by))
    if ('why' in written) throw refuseEdit(written)
    const note = (after: WrittenNote) => noteWritten(request, before, after)
    if (written.kind === 'refused') {
      const { findings, left = { files: [], changes: [] } } = written
      if (left.files.length > 0) await note({ revision: null, ...left })
      return { ...noneOutdated, ok: false, findings: findings.map(findingRecord), backups: [], revision: null, ...left }
    }
    if (written.kind === 'changed') throw fail('config_changed', { file: written.file })
    if (written.kind !== 'written') throw fail('config_read_only', { file: written.file, detail: written.detail })
    const { files, backups, changes, revision = null } = written
    await note({ revision, changes, files })
    const others =
      changes.length > 0 && revision !== before
        ? await waitForOthers(parts, { before, isLoaded: revision !== null, refusedBefore })
        : noneOutdated
    return { ok: true, findings: [], files, backups, changes, revision, ...others }
  }
  return [
    defineRoute({
      method: 'GET',
      url: '/api/config/editable',
      access: 'admin',
      summary:
        'List the models and groups that can be edited, their locations in the files, and whether the console may write changes.',
      answer: editableAnswer,
      async handle({ parts }) {
        const whyNot = await parts.edits.whyNot()
        const list = await parts.edits.list().catch((cause: unknown) => {
          throw fail(
            'conflict',
            { why: cause instanceof Error ? cause.message : 'The files cannot be read.' },
            { cause },
          )
        })
        return { ...list, writable: whyNot === undefined, why_not: whyNot?.reason ?? null }
      },
    }),
    defineRoute({
      method: 'POST',
      url: '/api/config/propose',
      access: 'admin',
      summary: 'Preview a change to the configuration files: its diff, its meaning and the findings of the check.',
      body: { type: 'object', additionalProperties: false, required: ['edits'], properties: { edits: editsOf } },
      answer: proposalAnswer,
      async handle({ parts, body }) {
        const proposal = await queue.run(() => parts.edits.propose(body.edits as Edits))
        if ('why' in proposal) throw refuseEdit(proposal)
        const whyNot = await parts.edits.whyNot()
        return {
          ...proposal,
          findings: proposal.findings.map(findingRecord),
          files: proposal.files.map(({ file, hunks }) => ({ file, hunks })),
          writable: whyNot === undefined,
          why_not: whyNot?.reason ?? null,
        }
      },
    }),
    defineRoute({
      method: 'POST',
      url: '/api/config/write',
      access: 'admin',
      summary: 'Write a proposed change and activate it. On an error, nothing is changed.',
      body: {
        type: 'object',
        additionalProperties: false,
        required: ['edits', 'base'],
        properties: {
          edits: editsOf,
          base: {
            type: 'string',
            maxLength: 100,
            description: '`base` of the proposal. If the files have changed since, nothing is written.',
          },
          password: {
            ...passwordGuess,
            description: 'Password of the signed-in user. Required if they signed in more than 10 minutes ago.',
          },
        },
      },
      answer: writtenAnswer,
      async handle(request) {
        await needWritable(request)
        await needFreshSignIn(request, request.body.password)
        return write(request, request.body.edits as Edits, request.body.base)
      },
    }),
    putGroup(write),
  ]
}

type Written = AnswerOf<typeof writtenAnswer>

const unchanged = { ok: true, findings: [], files: [], backups: [], changes: [] }

const noneOutdated = { outdated: [], refusals: [] } as const satisfies Pick<Written, 'outdated' | 'refusals'>

type WrittenState = {
  readonly before: string
  /** False if this process does not load the change itself. */
  readonly isLoaded: boolean
  /** The last refusal before the change. */
  readonly refusedBefore: number
}

const othersMs = 5_000
const lookMs = 250

/**
 * Other gateways on the storage load a shared file by their own watchers. Those that used the configuration `before` too
 * are waited for, so that the answer can name the ones that did not load the change.
 */
async function waitForOthers({ storage, clock }: AdminParts, { before, isLoaded, refusedBefore }: WrittenState) {
  const findOutdated = async () =>
    (await storage.watch.gateways()).filter(({ isOwn, revision }) => revision === before && !(isOwn && isLoaded))
  let outdated = await findOutdated()
  for (let waited = 0; outdated.length > 0 && waited < othersMs; waited += lookMs) {
    await clock.sleep(lookMs)
    outdated = await findOutdated()
  }
  if (outdated.length === 0) return noneOutdated
  const refusals = (await listRefusals({ storage })).filter(({ id }) => id > refusedBefore)
  return {
    outdated: outdated.map(({ host, startedAt }) => ({ host, started: toMoment(startedAt), revision: before })),
    refusals: [...new Set(refusals.flatMap(({ data }) => findingsOf(data)))],
  }
}

/** Findings with the host that reported them; earlier versions reported none. */
function findingsOf({ host, findings }: StoredEvent['data']): readonly string[] {
  return (findings as readonly string[]).map(finding => (typeof host === 'string' ? `${host}: ${finding}` : finding))
}

async function listRefusals({ storage }: Pick<AdminParts, 'storage'>) {
  return (await storage.watch.alerts()).events.filter(({ kind }) => kind === 'config.refused')
}

async function lastRefusal(parts: AdminParts): Promise<number> {
  return Math.max(0, ...(await listRefusals(parts)).map(({ id }) => id))
}

function putGroup(write: (request: AdminRequest, edits: Edits, base: string) => Promise<Written>) {
  // Each reads the files that the one before has written: a program declares several groups at once.
  const turns = new WorkQueue(1)
  return defineRoute({
    method: 'PUT',
    url: '/api/groups/:name',
    access: 'admin',
    summary: 'Create or replace a group in the configuration file, and activate it. On an error, nothing is changed.',
    body: {
      type: 'object',
      additionalProperties: true,
      description: 'The settings of the group, as in groups.NAME of gateway.yaml.',
    },
    answer: writtenAnswer,
    async handle(request) {
      await needWritable(request)
      await needFreshSignIn(request, undefined)
      const name = request.params['name'] ?? ''
      const value = request.body as Json
      const findBase = async (): Promise<string | undefined> => {
        const { base, groups } = await request.parts.edits.list()
        const known = groups.find(group => group.name === name)
        return known && isDeepStrictEqual(known.own, value) ? undefined : base
      }
      const same = () => ({ ...unchanged, ...noneOutdated, revision: request.parts.plan().revision })
      // A program that declares very many groups changes few of them: only these wait.
      if ((await findBase()) === undefined) return same()
      const written = await turns.run(async () => {
        const base = await findBase()
        return base === undefined ? same() : write(request, [{ path: ['groups', name], value }], base)
      })
      const wrong = written.findings.find(({ severity }) => severity === 'error')
      if (!written.ok) throw refuse('invalid', 'edit', { why: wrong?.message ?? 'the configuration is not valid' })
      return written
    },
  })
}

/** @throws Failure edits_off */
async function needWritable({ parts }: AdminRequest): Promise<void> {
  const whyNot = await parts.edits.whyNot()
  if (whyNot && whyNot.reason !== 'read-only') throw fail('edits_off', { detail: whyNot.detail })
}

type WrittenNote = {
  readonly revision: string | null
  readonly changes: readonly string[]
  readonly files: readonly string[]
}

async function noteWritten(request: AdminRequest, before: string, after: WrittenNote): Promise<void> {
  const { parts } = request
  await parts.storage.trail.note({
    actor: sessionUserOf(request).user.name,
    action: 'config.write',
    subject: parts.plan().file,
    before: { revision: before },
    after,
    reason: null,
  })
}
