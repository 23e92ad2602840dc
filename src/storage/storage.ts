import { windowsAmong } from '../domain/budget-period.ts'
import type { HoldResult, Job, RebuildState, Settlement, Storage, StoredAnswer } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Awaitable, Clock } from '../util/index.ts'
import { boundsOf } from '../plugin-api/charge-facts.ts'
import { createLabels } from './create-labels.ts'
import { createConfigHistory, newestConfig } from './config-history.ts'
import { StorageError } from './errors.ts'
import type { StorageOptions } from './options.ts'
import type { LogQueue } from './journal/log-queue.ts'
import { readForeign } from './keys/adopt.ts'
import { countKeys, findKeyByHash, readKey, readKeyChanges, readKeyRevision } from './keys/find.ts'
import { findNamed } from './keys/put.ts'
import { OwnChanges } from './keys/own-changes.ts'
import { findCharge } from './ledger/find.ts'
import { Endings } from './ledger/endings.ts'
import type { ChargeQueue } from './ledger/charge-queue.ts'
import { hasEnded } from './ledger/recovery.ts'
import { beatMs } from './ledger/replicas.ts'
import { countOpenJobs, findJob, jobsTogether } from './jobs.ts'
import { findAdminToken, listAdminTokens } from './people/admin-tokens.ts'
import { findInvitation, listInvitations } from './people/invitations.ts'
import { findSession, listSessions } from './people/sessions.ts'
import { findLinked, listLinks } from './people/sign-in.ts'
import { findUser, hasAdmin, readPasswordHash } from './people/users.ts'
import { listViews } from './people/views.ts'
import type { QueryProgram } from './query.ts'
import { listPurges } from './answer-purges.ts'
import { endedSessions, listLiveSessions } from './live-sessions.ts'
import { findObjects, pageObjects, sizeOfObjects } from './stored-objects.ts'
import type { Reading, Readings } from './readings.ts'
import { type CommitWatch, watchCommits } from './watch-commits.ts'
import { listVendorKeys, readKeySpending } from './vendor-keys.ts'
import type { Change, Given, Gives } from './ops.ts'
import type { Writing } from './writing.ts'

/** The interval at which expired responses are deleted: they expire after a day, so a minute more does not matter. */
const sweepMs = 60_000
const sumMs = 60_000
/** Pages of the log that are summed in one step, each in some hundredths of a second, between other reads. */
const pagesEach = 32
/** The most by which the clocks of two gateways on one database differ. */
const clocksDifferMs = 60_000
/** The actor of a change without a person's name. */
const nobody = 'gateway'
const byPassword = { passwords: true, issuers: [] } as const

/** Looks up rows with one statement or a few, at once. */
export type Lookup = {
  run<T>(steps: QueryProgram<T>): Awaitable<T>
  /** Runs on one snapshot. */
  snapshot<T>(steps: QueryProgram<T>): Awaitable<T>
}

/** Lists and audits, which take longer. */
export type Lists = { ask<R extends Reading>(reading: R, given: Readings[R]['given']): Promise<Readings[R]['gives']> }

export type StorageParts = {
  /** The billing identity: one for each open storage. */
  readonly owner: string
  readonly clock: Clock
  readonly log: Log
  readonly role: StorageOptions['role']
  /** The zone of budget days and months. */
  readonly zone: string
  readonly onCommit: CommitWatch | undefined
  /** Whether no other process bills on this database. */
  readonly isAlone: boolean
  /** The pause between two steps of long work, in which other processes can write; none by default. */
  readonly pauseMs?: number
  readonly logQueue: LogQueue
  readonly chargeQueue: ChargeQueue
  readonly writer: Writing
  readonly reads: Lookup
  readonly reader: Lists
  /** Writes pending work and closes everything. `waitMs` as for `Storage.close`. */
  close(waitMs?: number): Promise<void>
}

/** A storage on the parts of a driver. */
export function createStorage(parts: StorageParts): Storage {
  const { clock, logQueue, chargeQueue, reader } = parts
  const { writer, underWay } = watchCommits(parts.writer, clock, parts.onCommit)
  const changes = new OwnChanges()
  const endings = new Endings(writer, clock)
  const takeStep = createSteps({ ...parts, writer })
  const stopChores = startChores({ ...parts, writer }, endings, takeStep)
  let closing: Promise<void> | undefined
  writer.onRecovered(() => endings.payOwed())
  chargeQueue.onRefused(({ facts }) => void endings.review(facts.id, 'not_recordable').catch(() => undefined))

  return {
    keys: createKeys({ ...parts, writer }, changes),
    users: createUsers({ ...parts, writer }, changes, takeStep),
    sessions: createSessions({ ...parts, writer }),
    views: {
      list: user => parts.reads.run(listViews(user)),
      put: (user, view, before) => writer.submit('putView', { user, view, before: before ?? null }),
      remove: (user, { page, name }) => writer.submit('removeView', { user, view: { page, name } }),
    },
    adminTokens: {
      create: (token, by) => writer.submit('createAdminToken', { token, by, at: clock.now() }),
      find: hash => parts.reads.run(findAdminToken(hash, clock.now())),
      list: () => parts.reads.run(listAdminTokens(clock.now())),
      revoke: (idOrName, by) => writer.submit('revokeAdminToken', { idOrName, by, at: clock.now() }),
      async touch(id) {
        await writer.submit('touchAdminToken', { id, at: clock.now() })
      },
    },
    signIn: createSignIn({ ...parts, writer }),
    trail: {
      async note(row) {
        await writer.submit('note', { row, at: clock.now() })
      },
      list: filter => reader.ask('trail', filter),
      count: filter => reader.ask('trailCounts', filter),
    },
    configs: createConfigHistory({
      newest: () => parts.reads.run(newestConfig()),
      list: filter => reader.ask('configs', filter),
      keep: given => writer.submit('keepConfig', given),
      find: id => reader.ask('config', { id }),
    }),
    events: createEvents({ ...parts, writer }),
    watch: createWatch({ ...parts, writer }),
    ledger: createLedger({ ...parts, writer }, endings),
    jobs: createJobs({ ...parts, writer }),
    objects: createObjects({ ...parts, writer }),
    liveSessions: createLiveSessions({ ...parts, writer }),
    answers: createAnswers({ ...parts, writer }),
    vendorKeys: createVendorKeys({ ...parts, writer }),
    labels: createLabels({ ...parts, writer }),
    journal: {
      append(row) {
        logQueue.append(row)
        writer.touch()
      },
      list: filter => reader.ask('logs', filter),
      histogram: (match, stepMs) => reader.ask('steps', { match, stepMs }),
      totals: match => reader.ask('totals', match),
      summary: span => reader.ask('summary', span),
      usage: match => reader.ask('usage', match),
      usageBy: asked => reader.ask('usageBy', asked),
      costs: query => reader.ask('costs', query),
      rated: query => reader.ask('rated', query),
      latency: span => reader.ask('latency', span),
      vendorCosts: match => reader.ask('vendorCosts', match),
      prune: (until, limit) => writer.submit('pruneLogs', { until, limit }),
    },
    books: createBooks({ ...parts, writer }, takeStep),
    waiting: () => ({ changes: underWay(), rows: logQueue.size, charges: chargeQueue.size }),
    flush: () => writer.flush(),
    close: ({ waitMs } = {}) => (closing ??= stopChores(waitMs)),
  }
}

/** Commits one step of long work. */
type TakeStep = <C extends Change>(change: C, given: Given<C>) => Promise<Gives<C>>

/**
 * A step begins after everything that waits has been written: it takes up to some tenths of a second, and if it
 * followed the last one directly, more charges would arrive than are written between the two.
 */
function createSteps({ clock, writer, pauseMs = 0 }: StorageParts): TakeStep {
  let endedAt = Number.NEGATIVE_INFINITY
  return async (change, given) => {
    await writer.flush()
    const leftMs = endedAt + pauseMs - clock.tick()
    if (leftMs > 0) await clock.sleep(leftMs)
    try {
      return await writer.submit(change, given)
    } finally {
      endedAt = clock.tick()
    }
  }
}

/** The background work: deletes expired responses, and renews the lease of this gateway on a shared database. */
function startChores(parts: StorageParts, endings: Endings, takeStep: TakeStep) {
  const { clock, log, role, isAlone, writer } = parts
  const bills = role !== 'tool'
  const sweeper = bills ? clock.every(sweepMs, () => void sweep()) : undefined
  const adder = bills ? clock.every(sumMs, () => void sumUp()) : undefined
  const chores = { isAdding: false, isSweeping: false, isOver: false }
  // A process that is alone needs no lease, and an idle process writes nothing.
  const heart = bills && !isAlone ? clock.every(beatMs, beat) : undefined

  async function sweep(): Promise<void> {
    endings.payLate()
    if (chores.isSweeping) return
    chores.isSweeping = true
    try {
      let swept = await takeStep('sweep', { at: clock.now() })
      while (swept.isMore && !chores.isOver && writer.healthy()) swept = await takeStep('sweep', { at: clock.now() })
      if (swept.isLate) await writer.submit('eraseLate', { at: clock.now() })
    } catch (error) {
      log.warn({ err: error }, 'the sweep of old charges failed')
    } finally {
      chores.isSweeping = false
    }
  }

  /** Runs in small steps, until nothing is left, because use is read by days and months. */
  async function sumUp(): Promise<void> {
    if (chores.isAdding) return
    chores.isAdding = true
    try {
      for (let count = 1; count > 0 && !chores.isOver && writer.healthy(); )
        count = (await takeStep('rollUpCosts', null)) + (await takeStep('sumUp', { at: clock.now() }))
      for (let state: RebuildState | null = null; state?.isDone !== true && !chores.isOver && writer.healthy(); )
        state = await takeStep('finishRebuild', state)
      for (let isMore = true; isMore && !chores.isOver && writer.healthy(); )
        isMore = await takeStep('foldCosts', { at: clock.now() })
      await keepCharges()
    } catch (error) {
      log.warn({ err: error }, 'charges could not be added up')
    } finally {
      chores.isAdding = false
    }
  }

  /** Sums pages of the log, some at a time, so that totals need not read them. */
  async function keepCharges(): Promise<void> {
    let isDue = false
    for (let places = 1; places > 0; ) {
      if (chores.isOver || !writer.healthy()) return
      ;({ places, isDue } = await takeStep('dropChanged', { at: clock.now() }))
    }
    if (!isDue) return
    let before = Number.MAX_SAFE_INTEGER
    for (let pages = 0; pages < pagesEach && writer.healthy(); pages++) {
      const found = await parts.reader.ask('pageCharges', { at: clock.now(), before })
      if (!found || chores.isOver) return
      before = found.lastMs
      if (found.body !== null) await takeStep('writeBatchCharges', found)
    }
  }

  function beat(): void {
    writer.submit('beat', { at: clock.now() }).then(
      recovery => {
        if (hasEnded(recovery)) log.warn(recovery, 'charges of a stopped gateway were closed')
      },
      error => log.warn({ err: error }, 'the lease of this gateway could not be renewed'),
    )
  }

  /** Ends background work, writes pending work, and closes everything. */
  return async function stop(waitMs?: number): Promise<void> {
    sweeper?.cancel()
    adder?.cancel()
    chores.isOver = true
    heart?.cancel()
    await parts.close(waitMs)
  }
}

function createKeys({ clock, reads, reader, writer }: StorageParts, changes: OwnChanges): Storage['keys'] {
  return {
    findByHash: hash => reads.run(findKeyByHash(hash)),
    find: id => reads.run(readKey(id)),
    create: (key, by = nobody) => writer.submit('createKey', { key, by, at: clock.now() }),
    put: (key, status, by) => changes.counted(null, writer.submit('putKey', { key, status, by, at: clock.now() })),
    named: (user, name) => reads.run(findNamed(user, name)),
    adopt: (adoption, by) => writer.submit('adopt', { adoption, by, at: clock.now() }),
    hasForeign: () => reads.run(readForeign()),
    change: (id, change, by) =>
      changes.counted({ key: id }, writer.submit('changeKey', { id, change, by, at: clock.now() })),
    createOwn: (key, by, keysMax) =>
      writer.submit('createOwnKey', { key, by, keysMax: keysMax ?? null, at: clock.now() }),
    changeOwn: (id, change, by) =>
      changes.counted({ key: id }, writer.submit('changeOwnKey', { id, change, by, at: clock.now() })),
    rotate: (id, rotation, by) =>
      changes.counted({ key: id }, writer.submit('rotateKey', { id, rotation, by, at: clock.now() })),
    list: filter => reader.ask('keys', filter),
    revoke: (id, by = nobody) => changes.counted({ key: id }, writer.submit('revokeKey', { id, by, at: clock.now() })),
    count: () => reads.run(countKeys()),
    uses: users => reader.ask('keyUses', { users }),
    totals: user => reader.ask('keyTotals', { user: user ?? null }),
    members: () => reader.ask('members', null),
    revision: () => reads.run(readKeyRevision()),
    changesSince: revision => reads.run(readKeyChanges(revision)),
    ownChanges: () => changes.count,
    ownChangesSince: count => changes.since(count),
  }
}

function createUsers(
  { clock, reads, reader, writer }: StorageParts,
  changes: OwnChanges,
  takeStep: TakeStep,
): Storage['users'] {
  return {
    async create(user, by = nobody) {
      await writer.submit('createUser', { user, by, at: clock.now() })
    },
    find: name => reads.run(findUser(name)),
    passwordHash: name => reads.run(readPasswordHash(name)),
    list: filter => reader.ask('users', filter ?? null),
    totals: () => reader.ask('userTotals', null),
    change: (name, change, by, ways) =>
      changes.counted(
        { user: name },
        writer.submit('changeUser', { name, change, by, ways: ways ?? null, at: clock.now() }),
      ),
    setPassword: (name, passwordHash, by = nobody, keep) =>
      changes.counted(
        { user: name },
        writer.submit('setPassword', { name, passwordHash, keep: keep ?? null, by, at: clock.now() }),
      ),
    traces: name => reader.ask('traces', { name }),
    async erase(name, by, ways) {
      const ended = await writer.submit('closeUser', { name, by, ways: ways ?? null, at: clock.now() })
      // The user's pending log rows and charges must be written before.
      await writer.flush()
      const done = ended
        ? await changes.counted(null, writer.submit('eraseUser', { name, by, at: clock.now() }))
        : undefined
      if (typeof done === 'number') throw new StorageError('erase_busy', { name, count: done })
      const pseudonym = done?.pseudonym ?? (await reader.ask('pseudonym', { name }))
      // A user who was erased before may have rows left: the process that erased the user may have been killed.
      if (pseudonym === null) return undefined
      let rows = 0
      for (let some = 1; some > 0; rows += some) some = await takeStep('eraseLogs', { name, pseudonym })
      const logs = { table: 'log', how: 'renamed', rows } as const
      const tables = (done?.tables ?? []).map(one => {
        const first = ended?.find(({ table }) => table === one.table)
        return { ...one, rows: one.rows + (first?.rows ?? 0) }
      })
      return { pseudonym, tables: [...tables, logs], kept: done?.kept ?? null }
    },
    topUp: (name, amount, note, by, expected) =>
      changes.counted({ user: name }, writer.submit('topUp', { name, amount, note, by, expected, at: clock.now() })),
    topUps: name => reader.ask('topUps', { name }),
    hasAdmin: (ways = byPassword) => reads.run(hasAdmin(ways)),
    async offerSetup(tokenHash, expiresAt) {
      await writer.submit('offerSetup', { tokenHash, expiresAt })
    },
    claimSetup: claim =>
      changes.counted(null, writer.submit('claimSetup', { ways: byPassword, ...claim, at: clock.now() })),
  }
}

function createBooks({ clock, zone, reader, writer }: StorageParts, takeStep: TakeStep): Storage['books'] {
  return {
    all: (after, limit) => reader.ask('charges', { after, limit }),
    verify: (anchors = []) => reader.ask('audit', { at: clock.now(), zone: zone, anchors }),
    rebuildCosts: from => takeStep('rebuildCosts', from ?? null),
    async repairBudgets(by) {
      for (;;) {
        const found = await reader.ask('corrections', { at: clock.now(), zone: zone })
        const { corrections, repairs } = found
        if (!found.isSound) return undefined
        if (corrections.length === 0) return []
        if (await writer.submit('repairBudgets', { corrections, repairs, by, at: clock.now() })) return corrections
      }
    },
    anchor: () => reader.ask('anchor', { at: clock.now() }),
    levels: (of, periods = []) =>
      reader.ask('sums', { at: clock.now(), zone: zone, of: of ?? null, windows: windowsAmong(periods) }),
    endUsers: (periods = []) =>
      reader.ask('endUserSums', { at: clock.now(), zone: zone, windows: windowsAmong(periods) }),
    statement: ({ from, until, endUser, tag }) => reader.ask('statement', { from, until, endUser, tag }),
    open: () => reader.ask('open', null),
    refundsOf: id => reader.ask('refunds', { id }),
    resolve: (id, how, by, reason, amount = 0) =>
      writer.submit('resolve', { id, how, by, reason, amount, at: clock.now() }),
    lapse: until => writer.submit('lapse', { until, at: clock.now() }),
    refund: (id, by, reason, part) => writer.submit('refund', { id, by, reason, ...part, at: clock.now() }),
    reprice: repricing => writer.submit('reprice', { ...repricing, at: clock.now() }),
  }
}

function createEvents({ clock, reader, writer }: StorageParts): Storage['events'] {
  return {
    async add(event) {
      await writer.submit('writeEvent', { event, at: clock.now() })
    },
    async addUnlessRepeated(event, ends) {
      await writer.submit('writeNewEvent', { event, at: clock.now(), ends })
    },
    after: (after, limit) => reader.ask('events', { after, limit }),
    async page(query) {
      await writer.submit('arrangeEvents', { at: clock.now() })
      return reader.ask('feed', query)
    },
    find: id => reader.ask('event', { id }),
    prune: (until, limit, webhooks) => writer.submit('pruneEvents', { until, limit, webhooks, at: clock.now() }),
    webhooks: {
      claim: webhook => writer.submit('claimWebhook', { webhook, at: clock.now() }),
      due: (webhook, limit) => reader.ask('due', { webhook, limit, at: clock.now() }),
      keep: deliveries => writer.submit('writeDelivery', { deliveries, at: clock.now() }),
      again: (webhook, which) => writer.submit('queueRedelivery', { webhook, which, at: clock.now() }),
      list: () => reader.ask('webhooks', null),
    },
  }
}

function createWatch({ clock, owner, reader, writer }: StorageParts): Storage['watch'] {
  return {
    async refused(one) {
      await writer.submit('countRefused', { ...one, at: clock.now() })
    },
    listRefused: filter => reader.ask('refused', filter),
    alerts: () => reader.ask('alerts', null),
    async deal(alert, isDealt, by) {
      await writer.submit('dealWith', { alert, isDealt, by, at: clock.now() })
    },
    async introduce(of) {
      await writer.submit('introduce', of)
    },
    gateways: () => reader.ask('gateways', { owner, at: clock.now() }),
  }
}

function createObjects({ clock, reads, reader, writer }: StorageParts): Storage['objects'] {
  return {
    async put(objects) {
      await writer.submit('putObjects', objects)
    },
    find: (keyId, wanted) => reads.run(findObjects(keyId, wanted, clock.now())),
    end: (keyId, kind, id) => writer.submit('endObject', { keyId, kind, id, at: clock.now() }),
    page: page => reads.run(pageObjects(page, clock.now())),
    sizeOf: keyId => reads.run(sizeOfObjects(keyId, clock.now())),
    list: filter => reader.ask('objects', filter),
  }
}

function createLiveSessions({ clock, owner, reads, writer }: StorageParts): Storage['liveSessions'] {
  return {
    async opened(session) {
      await writer.submit('putSession', session)
    },
    async closed(id) {
      await writer.submit('dropSession', id)
    },
    list: async filter => reads.run(listLiveSessions(filter)),
    end: (id, by, reason) => writer.submit('endLiveSession', { id, by, reason, at: clock.now() }),
    ended: async () => reads.run(endedSessions(owner)),
  }
}

function createAnswers({ clock, reads, writer }: StorageParts): Storage['answers'] {
  return {
    async add(scope, by, reason) {
      await writer.submit('purgeAnswers', { scope, by, reason, at: clock.now() })
    },
    list: async () => reads.run(listPurges()),
  }
}

function createJobs({ clock, reads, writer }: StorageParts): Storage['jobs'] {
  return {
    async open(job) {
      await writer.submit('openJob', { job, at: clock.now() })
    },
    end: (id, state, answer) => writer.submit('endJob', { id, state, answer: ownAnswer(answer), at: clock.now() }),
    find: id => reads.run(findJob(id)),
    openOf: keyId => reads.run(countOpenJobs(keyId)),
    async own() {
      const all: Job[] = []
      for (let after = ''; ; ) {
        const page = await writer.submit('ownJobs', after)
        all.push(...page)
        if (page.length < jobsTogether) return all
        after = (page.at(-1) as Job).id
      }
    },
  }
}

function createVendorKeys({ clock, reads, writer }: StorageParts): Storage['vendorKeys'] {
  return {
    list: () => reads.run(listVendorKeys()),
    async put(status, others) {
      await writer.submit('putVendorKey', { status, others })
    },
    decide: (decision, by) => writer.submit('decideVendorKey', { decision, by, at: clock.now() }),
    spent: () => reads.run(readKeySpending()),
    async spend(spending) {
      await writer.submit('spendOfKey', spending)
    },
  }
}

function createSessions({ clock, reads, writer }: StorageParts): Storage['sessions'] {
  return {
    create: (session, passwordHash) => writer.submit('createSession', { session, passwordHash: passwordHash ?? null }),
    find: hash => reads.run(findSession(hash, clock.now())),
    async touch(hash) {
      await writer.submit('touchSession', { hash, at: clock.now() })
    },
    async end(hash) {
      await writer.submit('endSession', { hash })
    },
    list: user => reads.run(listSessions(user, clock.now())),
  }
}

function createSignIn({ clock, reads, reader, writer }: StorageParts): Storage['signIn'] {
  return {
    async saveLogin(login) {
      await writer.submit('saveLogin', { login, at: clock.now() })
    },
    takeLogin: async hash => (await writer.submit('takeLogin', { hash, at: clock.now() })) ?? undefined,
    find: identity => reads.run(findLinked(identity)),
    link: (identity, user, by, alone = false) =>
      writer.submit('linkIdentity', { identity, user, alone, by, at: clock.now() }),
    links: user => reads.run(listLinks(user)),
    unlink: (user, which, by, { keepWayIn = false, ways = null } = {}) =>
      writer.submit('unlinkIdentity', { user, which: which ?? null, keepWayIn, ways, by, at: clock.now() }),
    async admit(newcomer, by) {
      const since = clock.now() - clocksDifferMs
      const alike = { other: await reader.ask('alike', { name: newcomer.user.name }), since }
      return writer.submit('admitUser', { newcomer, alike, by, at: clock.now() })
    },
    async endSessions(user) {
      await writer.submit('endUserSessions', { user })
    },
    invite: (invitation, by) => writer.submit('createInvitation', { invitation, by, at: clock.now() }),
    invitation: hash => reads.run(findInvitation(hash, clock.now())),
    invitations: () => reads.run(listInvitations(clock.now())),
    revokeInvitation: (id, by) => writer.submit('revokeInvitation', { id, by, at: clock.now() }),
  }
}

function createLedger(parts: StorageParts, endings: Endings): Storage['ledger'] {
  const { clock, logQueue, chargeQueue, reads, writer } = parts
  return {
    async hold(request) {
      if (!writer.healthy()) throw new StorageError('storage_unavailable', { reason: 'writing failed a moment ago' })
      const at = clock.now()
      chargeQueue.opened(request.facts.id, at)
      try {
        const levels = request.levels ?? boundsOf(request.facts)
        const bounded = levels && levels.length > 0 ? { ...request, levels } : request
        const isPosting = chargeQueue.hasOf(bounded)
        const result = await writer.submit('hold', { request: bounded, at })
        if (result.kind !== 'overdrawn' || !isPosting) return withBuffer(result)
        // Charges of requests that ended before this one still have their holds until they are written.
        await writer.flush()
        return withBuffer(await writer.submit('hold', { request: bounded, at }))
      } catch (error) {
        endings.holdFailed(request.facts.id, at, error)
        throw error
      }
    },
    async line(chargeId, line, upstream) {
      try {
        return await writer.submit('line', { chargeId, line, ...(upstream !== undefined && { upstream }) })
      } catch (error) {
        endings.lineFailed(chargeId, error)
        throw error
      }
    },
    settle: settlement =>
      endings.end(settlement.id, {
        change: 'settle',
        given: { settlement: withOwnBytes(settlement), at: clock.now() },
      }),
    post(facts, lines, delivery, vendorCost) {
      if (lines.length === 0) return
      chargeQueue.append({ facts, lines, delivery, at: clock.now(), ...(vendorCost !== undefined && { vendorCost }) })
      writer.touch()
    },
    void(id, reason, vendorCost) {
      const given = {
        id,
        state: 'voided',
        reason,
        at: clock.now(),
        ...(vendorCost !== undefined && { vendorCost }),
      } as const
      return endings.end(id, { change: 'endEmpty', given })
    },
    review: (id, reason, about) => endings.review(id, reason, about),
    delivered(id) {
      logQueue.delivered(id)
      writer.touch()
    },
    find: id => chargeQueue.find(id) ?? reads.snapshot(findCharge(id)),
    healthy: () => writer.healthy(),
    trouble: () => writer.trouble(),
  }
}

/** A view of a large buffer would send all of that buffer to the thread. */
function withOwnBytes(settlement: Settlement): Settlement {
  const answer = ownAnswer(settlement.answer ?? null)
  return answer ? { ...settlement, answer } : settlement
}

function ownAnswer(answer: StoredAnswer | null): StoredAnswer | null {
  return answer && { ...answer, body: Buffer.from(Uint8Array.from(answer.body).buffer) }
}

/** A thread returns bytes as plain byte arrays. */
function withBuffer(result: HoldResult): HoldResult {
  if (result.kind !== 'ended' || result.answer === null) return result
  const { buffer, byteOffset, byteLength } = result.answer.body
  return { ...result, answer: { ...result.answer, body: Buffer.from(buffer, byteOffset, byteLength) } }
}
