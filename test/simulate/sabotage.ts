import { registerHooks } from 'node:module'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findCode } from './find-code.ts'

const root = resolve(import.meta.dirname, '../..')

/** A plausible fault that is put into the text of a module while it is loaded; no file is changed. */
export type Sabotage = {
  readonly name: string
  /** The oracle that has to find it. */
  readonly oracle: string
  readonly says: string
  /** The mark that no longer occurs, if that is how it shows. */
  readonly mark?: string
  /** A seed that finds it, if few do: it is tried first. */
  readonly seed?: number
  /** Occurs once in thousands of seeds: its story in seeds.json finds it, and the search by seeds omits it. */
  readonly isRare?: true
  readonly edits: readonly (readonly [file: string, find: string, put: string])[]
}

export const sabotages: readonly Sabotage[] = [
  {
    name: 'second-picture-free',
    oracle: 'free-image',
    says: 'the second picture of an answer is not billed',
    edits: [
      [
        'src/storage/ledger/charge-item.ts',
        '  upstream?: string,\n): QueryProgram<boolean> {',
        '  upstream?: string,\n): QueryProgram<boolean> {\n  if (line.index > 0) return true',
      ],
    ],
  },
  {
    name: 'tools-by-one-name',
    oracle: 'free-image',
    says: 'a tool that makes images is known by its exact name at the top alone',
    edits: [
      [
        'src/plugin-api/image-tool.ts',
        '.find(({ draws }) => draws)',
        ".find(({ name, place }) => name === 'image_generation' && place === 'tools[0].type')",
      ],
    ],
  },
  {
    name: 'larger-without-flag',
    oracle: 'price',
    says: 'an image that is larger than its family expects is charged beyond its hold, and no flag says so',
    edits: [['plugins/image-tier-billing/rate-image.ts', "flags.push('larger_than_expected')", 'undefined']],
  },
  {
    name: 'unwritten-without-log',
    oracle: 'price',
    seed: 9338,
    says: 'a gateway that stops on a full disk loses a charge, and its log does not contain it',
    edits: [
      [
        'src/storage/write-queue.ts',
        "this.#log.error({ posting }, 'a charge is not known to be written')",
        'undefined',
      ],
    ],
  },
  {
    name: 'links-kill-pictures',
    oracle: 'withheld',
    seed: 20,
    says: 'an answer with something unknown beside its picture is cut off, and charged',
    edits: [
      [
        'plugins/image-tier-billing/billing-stage.ts',
        'if (omitted !== undefined) this.#charge.leftOut(omitted)',
        'if (omitted !== undefined) throw this.#charge.unrecognised(omitted)',
      ],
    ],
  },
  {
    name: 'split-pictures-pass',
    oracle: 'free-image',
    says: 'a picture whose text comes in pieces is not found',
    edits: [
      [
        'plugins/image-tier-billing/answer-texts.ts',
        'for (const { key, text, at } of this.#waiting) channelOf(this.#channels, key).write(text, at)',
        'this.#waiting = []',
      ],
    ],
  },
  {
    name: 'words-of-pictures-free',
    oracle: 'price',
    says: 'an answer in words alone of a model that makes images costs nothing',
    edits: [
      [
        'plugins/token-usage/plugin.ts',
        "facet.beside_images === 'free' && (context.slots.get(imagesMadeSlot)?.() ?? 0) > 0",
        "facet.beside_images === 'free'",
      ],
    ],
  },
  {
    name: 'other-kind-passes',
    oracle: 'kind',
    says: 'an answer of the other kind than the client asked for reaches it',
    edits: [
      ['src/engine/response-form.ts', 'if (!fits) throw this.#refuse(this.#form, wanted)', 'if (!fits) return'],
      [
        'src/engine/response-form.ts',
        'if (!isRead || !(this.isTurned || isWanted(form, wanted))) throw this.#refuse(form, wanted)',
        'if (!isRead && form === wanted) throw this.#refuse(form, wanted)',
      ],
    ],
  },
  {
    name: 'first-come-first-served',
    oracle: 'neighbours',
    says: 'requests of all clients wait in one line',
    edits: [
      [
        'src/engine/upstream/request-queue.ts',
        "function payerOf({ payer = '' }: Waiter): string {\n  return payer",
        "function payerOf(_: Waiter): string {\n  return ''",
      ],
    ],
  },
  {
    name: 'unknown-passes',
    oracle: 'unrecognised',
    says: 'what may hold an image that nobody has counted is handed out',
    edits: [
      ['plugins/image-tier-billing/remainder.ts', 'if (seen !== undefined) {', 'if (seen === null) {'],
      [
        'plugins/image-tier-billing/remainder.ts',
        'held; held = this.#heldLink()',
        'held === null; held = this.#heldLink()',
      ],
      [
        'plugins/image-tier-billing/scan-images.ts',
        'if (this.#walk.complete && this.#count === 0) this.#checkEmpty()',
        'undefined',
      ],
      [
        'plugins/image-tier-billing/scan-events.ts',
        'if (this.#strange !== undefined) throw',
        'if (this.#strange === null) throw',
      ],
    ],
  },
  {
    name: 'asked-again-in-doubt',
    oracle: 'phantom',
    says: 'trying another upstream although the first may have begun',
    edits: [
      [
        'src/engine/attempts.ts',
        ": isUntouched && !request.isLast ? 'next_upstream'",
        ": !request.isLast ? 'next_upstream'",
      ],
    ],
  },
  {
    name: 'images-asked-again',
    oracle: 'phantom',
    says: 'images are asked for again after an error, though `may_pay_twice` does not say so',
    edits: [['src/engine/retries.ts', '(this.#isRepeatable && !isSession) ||', '!isSession ||']],
  },
  {
    name: 'asked-without-end',
    oracle: 'phantom',
    says: 'a text is asked for again more often than `attempts` says',
    edits: [['src/engine/retries.ts', 'this.#sent >= attempts || nowTick', 'this.#sent > attempts || nowTick']],
  },
  {
    name: 'rounded-down',
    oracle: 'price',
    says: 'tokens are rounded down',
    edits: [['src/pricing/exact.ts', '    sum += part\n', '    sum += 0\n']],
  },
  {
    name: 'two-pictures-on-credit',
    oracle: 'overdraft',
    says: 'a hold of two pictures more than the budget is let in',
    edits: [['src/storage/ledger/hold.ts', '${left} >= ?)', '${left} + 80000 >= ?)']],
  },
  {
    name: 'hold-not-given-back',
    oracle: 'stuck-money',
    says: 'a charge that comes to nothing keeps its hold',
    edits: [
      ['src/storage/ledger/release-holds.ts', 'UPDATE key SET held = held - ?', 'UPDATE key SET held = held - 0 * ?'],
    ],
  },
  {
    name: 'spent-too-much',
    oracle: 'exactly-once',
    says: 'a key is said to have spent one micro-unit more',
    edits: [
      [
        'src/storage/ledger/settle.ts',
        "amount: whole(charge, 'amount'), heldBack: heldNow, at }",
        "amount: whole(charge, 'amount') + 1, heldBack: heldNow, at }",
      ],
    ],
  },
  {
    name: 'told-before-the-disk',
    oracle: 'durable',
    says: 'commits are acknowledged before the disk has them',
    edits: [['src/storage/sqlite/connect.ts', 'PRAGMA synchronous = FULL', 'PRAGMA synchronous = NORMAL']],
  },
  {
    name: 'disk-never-asked',
    oracle: 'durable',
    says: 'nothing is ever synced',
    edits: [['src/storage/sqlite/connect.ts', 'PRAGMA synchronous = FULL', 'PRAGMA synchronous = OFF']],
  },
  {
    name: 'digest-of-nothing',
    oracle: 'audit',
    says: 'an entry is digested without its lines',
    edits: [
      [
        'src/storage/ledger/settle.ts',
        'digest: digestCharge(charge, lines)',
        'digest: digestCharge(charge, lines.slice(1))',
      ],
    ],
  },
  {
    name: 'one-too-many',
    oracle: 'limits',
    says: 'one request more than the limit is let in',
    edits: [
      [
        'src/storage/counters/memory.ts',
        'return log.waitMs(limit, amount, now)',
        'return log.waitMs(limit + 1, amount, now)',
      ],
    ],
  },
  {
    name: 'no-new-day',
    oracle: 'spendable',
    says: 'a budget for a day never begins anew',
    edits: [
      [
        'src/storage/keys/spend.ts',
        "WHEN 'day' THEN ${spentNow('day')} ELSE",
        "WHEN 'day' THEN spent + 0 * (${spentNow('day')}) ELSE",
      ],
    ],
  },
  {
    name: 'hints-are-fatal',
    oracle: 'delivered',
    says: 'an informational answer ends the request',
    edits: [
      [
        'src/engine/upstream-call.ts',
        'this.#interimBytes += bytes',
        "return this.#giveUp(fail('upstream_cut', { reason: 'a hint' }))",
      ],
    ],
  },
  {
    name: 'no-deadlines',
    oracle: 'answered',
    says: 'nothing that takes too long is ended',
    edits: [['src/engine/deadlines.ts', 'this.#sweep()', 'undefined']],
  },
  {
    name: 'forgetful',
    oracle: 'idempotent',
    says: 'idempotency keys are not kept',
    edits: [['src/storage/ledger/hold.ts', 'idempotency?.key ?? null', 'idempotency?.key && null']],
  },
  {
    name: 'busy',
    oracle: 'time',
    says: 'each charge keeps the processor for 300 ms',
    edits: [
      [
        'src/storage/ledger/hold.ts',
        '  const { facts, idempotency, levels = [] } = request\n',
        '  const { facts, idempotency, levels = [] } = request\n  for (const end = process.hrtime()[0] * 1e3 + process.hrtime()[1] / 1e6 + 300; process.hrtime()[0] * 1e3 + process.hrtime()[1] / 1e6 < end; );\n',
      ],
    ],
  },
  {
    name: 'key-cache-stays',
    oracle: 'memory',
    says: 'a plugin that is closed goes on polling',
    edits: [['plugins/auth/plugin.ts', 'close: () => keys.close()', 'close: () => undefined']],
  },
  {
    name: 'throws-at-the-end',
    oracle: 'faultless',
    says: 'a plugin throws when a request ends by its caller',
    edits: [
      [
        'plugins/ratelimit/plugin.ts',
        'return taken && settle(context, outcome, taken)',
        "if (outcome.kind === 'cut') throw new TypeError('planted')\n        return taken && settle(context, outcome, taken)",
      ],
    ],
  },
  {
    name: 'day-on-credit',
    oracle: 'overdraft',
    says: 'what a day has cost counts half against its budget',
    edits: [
      [
        'src/storage/keys/spend.ts',
        "WHEN 'day' THEN ${spentNow('day')} ELSE",
        "WHEN 'day' THEN (${spentNow('day')}) / 2 ELSE",
      ],
    ],
  },
  {
    name: 'unseen-holds',
    oracle: 'overdraft',
    says: 'what is held does not count against a budget',
    edits: [['src/storage/keys/spend.ts', '`(budget - held - CASE', '`(budget - 0 * held - CASE']],
  },
  {
    name: 'tokens-forgotten',
    oracle: 'tokens',
    says: 'what a request has used counts nothing once it is over',
    edits: [
      [
        'plugins/ratelimit/plugin.ts',
        "limit.counts === 'tokens' ? (tokens?.actual(outcome) ?? 0) :",
        "limit.counts === 'tokens' ? 0 * (tokens?.actual(outcome) ?? 0) :",
      ],
    ],
  },
  {
    name: 'disabled-goes-on',
    oracle: 'keys',
    says: 'a key that is disabled is let in',
    edits: [['plugins/auth/plugin.ts', "key.status !== 'active'", "key.status === 'revoked'"]],
  },
  {
    name: 'old-secrets-stay',
    oracle: 'keys',
    says: 'a secret that was replaced is taken for ever',
    edits: [['src/storage/keys/find.ts', 'Math.min(key.expiresAt ?? Infinity, key.oldUntil ?? 0)', 'key.expiresAt']],
  },
  {
    name: 'reviews-lapse',
    oracle: 'reviews',
    says: 'what waits for a person is void after a moment',
    edits: [['src/gateway/retention.ts', 'const waits = reviewMs()', 'const waits = reviewMs() ?? 1']],
  },
  {
    name: 'nothing-kept',
    oracle: 'reviews',
    says: 'the hold of an answer that nobody recognised is given back',
    edits: [
      [
        'plugins/image-tier-billing/image-charge.ts',
        "unrecognisedReason(this.#shape), 'kept')",
        'unrecognisedReason(this.#shape))',
      ],
    ],
  },
  {
    name: 'estimates-unflagged',
    oracle: 'text',
    says: 'a line that is estimated does not say why',
    edits: [
      [
        'plugins/token-usage/rate-request.ts',
        "charged(ended, uses, reason, reason === 'nothing_used' ? [] : [reason])",
        'charged(ended, uses, reason)',
      ],
    ],
  },
  {
    name: 'anything-believed',
    oracle: 'text',
    says: 'any count that an upstream tells is believed',
    edits: [
      [
        'plugins/token-usage/check-usage.ts',
        'count > mostOf(unit, { sent, answerBytes, unseen, body })',
        'count > mostOf(unit, { sent, answerBytes, unseen, body }) * 1e6',
      ],
    ],
  },
  {
    name: 'untold-passes',
    oracle: 'text',
    says: 'an answer without its use is handed out where it is to be refused',
    edits: [
      [
        'plugins/token-usage/plugin.ts',
        "if (facet.missing_usage !== 'refuse' ||",
        "if (facet.missing_usage !== 'estimate' ||",
      ],
    ],
  },
  {
    name: 'figures-look-up',
    oracle: 'faultless',
    says: "a figure costs a look-up, and one that fails is nobody's to handle",
    edits: [
      [
        'src/observe/watch-charges.ts',
        "if (isOurs) ended(settlement.id, 'settled', settlement.upstream)",
        "if (isOurs) { ended(settlement.id, 'settled', settlement.upstream); void (async () => ledger.find(settlement.id))() }",
      ],
    ],
  },
  {
    name: 'refusal-forgotten',
    oracle: 'limits',
    says: 'what one upstream has refused counts for nothing when the next cannot be reached',
    isRare: true,
    edits: [
      [
        'src/engine/refusals.ts',
        "return refused && (call === refused || reach === 'untouched') ? 'refused' : reach",
        'return reach',
      ],
    ],
  },
  {
    name: 'given-up-behind-another',
    oracle: 'answered',
    says: 'a caller has to take an answer whose connection an earlier one still has',
    isRare: true,
    edits: [['src/engine/response-pump.ts', 'if (this.#isBehind) return this.#deadlines.in(this.#writeIdleMs)', '']],
  },
  {
    name: 'cut-behind-another',
    oracle: 'answered',
    says: 'an answer that is cut before it has the connection never ends',
    isRare: true,
    edits: [
      [
        'src/engine/response-pump.ts',
        'if (!socket) return whenConnected(this.#res, () => this.#breakOff())',
        'if (!socket) return',
      ],
    ],
  },
  {
    name: 'segment-on-the-house',
    oracle: 'exactly-once',
    says: 'what charges in a segment come to is booked on no key',
    edits: [
      ['src/storage/charge-batches/write.ts', 'yield* bookKeySpending(identity, spent, now)', 'void bookKeySpending'],
    ],
  },
  {
    name: 'resent-anew',
    oracle: 'audit',
    says: 'a group whose commit was in doubt is written again, whether or not it is there',
    edits: [
      ['src/storage/charge-batches/write.ts', 'if (there.length > 0) return', ''],
      ['src/storage/migrations/0006-segments.ts', 'CREATE UNIQUE INDEX segment_ids', 'CREATE INDEX segment_ids'],
    ],
  },
  {
    name: 'lease-runs-out',
    oracle: 'audit',
    says: 'the lease of a gateway alone on its file runs out, and is not renewed',
    edits: [
      ['src/storage/ledger/replicas.ts', 'CASE WHEN ? = 1 THEN', 'CASE WHEN ? = 2 THEN'],
      ['src/storage/ledger/audit.ts', 'if (live.size === 0) findings.left++\n    else if', 'if'],
    ],
  },
  {
    name: 'never-elsewhere',
    oracle: 'sometimes',
    says: 'no second upstream is ever asked',
    mark: 'another upstream answered',
    edits: [
      [
        'src/engine/attempts.ts',
        'if (!isRetryableStatus(status) || !isUnsold || request.isSpent || request.isLast) {',
        '{',
      ],
      ['src/engine/attempts.ts', ": isUntouched && !request.isLast ? 'next_upstream' : 'take'", ": 'take'"],
    ],
  },
  {
    name: 'half-summed',
    oracle: 'told',
    says: 'charges that were added up are left out of what users spent',
    edits: [
      ['src/storage/journal/sum-up.ts', 'for (const row of spent.rows())', 'for (const row of spent.rows().slice(1))'],
    ],
  },
  {
    name: 'log-page-cut',
    oracle: 'told',
    says: 'the last row of a page that is bound is lost',
    edits: [
      ['src/storage/log-batches/write.ts', 'sorted.slice(from, to)', 'sorted.slice(from, Math.max(to - 1, from + 1))'],
    ],
  },
  {
    name: 'one-key-is-enough',
    oracle: 'vendor-keys',
    seed: 2,
    says: 'what one key was refused goes to no other key of its vendor',
    edits: [
      [
        'src/engine/vendor-keys/key-attempt.ts',
        "this.#waitsFor(classification.retryAfterMs ?? soonMs)\n    return 'next_key'",
        "this.#waitsFor(classification.retryAfterMs ?? soonMs)\n    return 'next_upstream'",
      ],
    ],
  },
  {
    name: 'paid-twice-unasked',
    oracle: 'vendor-keys',
    seed: 6,
    says: 'what may have been sold is asked for with the next key, though nobody said so',
    edits: [
      [
        'src/engine/vendor-keys/key-attempt.ts',
        "if (this.upstream.paysTwice !== true) return 'take'",
        "if (this.upstream.paysTwice === true) return 'take'",
      ],
    ],
  },
  {
    name: 'never-suspended',
    oracle: 'vendor-keys',
    seed: 6,
    says: 'a key that its vendor refuses is asked again and again',
    edits: [
      [
        'src/engine/vendor-keys/key-states.ts',
        "if (effect === 'none' || effect === 'model' || effect === 'request') return false",
        "if (effect === 'none' || effect === 'model' || effect === 'request' || effect === 'invalid') return false",
      ],
    ],
  },
  {
    name: 'bodies-suspend-keys',
    oracle: 'vendor-keys',
    says: 'what the body of one request brings about suspends every key that it is tried with',
    edits: [
      [
        'src/engine/classify-response/classify.ts',
        "key: saleClass === 'not_sold' ? row.key : 'none'",
        "key: saleClass === 'not_sold' ? (row.key === 'request' ? 'no_credit' : row.key) : 'none'",
      ],
      [
        'src/engine/vendor-keys/key-states.ts',
        'if (confirm && !this.#suspicions.confirms(key, effect, keyUser)) return false\n      if (keyUser.hasChanged) return false',
        'void confirm',
      ],
      [
        'src/engine/vendor-keys/key-states.ts',
        "return (reason === 'no_credit' || reason === 'limited') &&",
        'return reason === null &&',
      ],
      ['src/engine/vendor-keys/key-states.ts', "status?.state !== 'suspended' ||", "status?.state !== 'active' ||"],
    ],
  },
  {
    name: 'callers-are-blamed',
    oracle: 'vendor-keys',
    seed: 2,
    says: "the vendor's words about a key are handed to the caller",
    edits: [
      [
        'src/engine/attempts.ts',
        'if (isLast && refused && attempt.isLastShown) return refused',
        'if (refused) return refused',
      ],
    ],
  },
  {
    name: 'never-back',
    oracle: 'vendor-keys',
    seed: 6,
    says: 'a free look that finds a key good changes nothing',
    edits: [
      [
        'src/gateway/vendor-key-service.ts',
        "if (found.result === 'good') states.resume(key)",
        "if (found.result === 'good') states.stays(key)",
      ],
    ],
  },
  {
    name: 'never-tried',
    oracle: 'vendor-keys',
    seed: 6,
    says: 'a key that had no credit is never tried',
    edits: [['src/engine/vendor-keys/key-states.ts', "if (reason === 'no_credit' || (reason", 'if ((reason']],
  },
  {
    name: 'key-budget-unseen',
    oracle: 'vendor-keys',
    seed: 2,
    says: "a vendor's key is asked on when its budget is spent",
    edits: [
      [
        'src/engine/vendor-keys/key-budgets.ts',
        'return this.#spentIn(id, budget.per) < budget.amount',
        'return this.#spentIn(id, budget.per) < budget.amount * 100',
      ],
    ],
  },
  {
    name: 'words-unheard',
    oracle: 'vendor-keys',
    seed: 2,
    says: 'what a person says of a key goes by its secret',
    edits: [
      [
        'src/engine/vendor-keys/key-states.ts',
        "(status.hash !== key.hash && status.reason !== 'operator')",
        'status.hash !== key.hash',
      ],
    ],
  },
  {
    name: 'key-limit-off-by-one',
    oracle: 'vendor-keys',
    seed: 2,
    says: "one request more than its limit is asked with a vendor's key",
    edits: [
      [
        'src/engine/vendor-keys/demands-of.ts',
        "demand('window', `rpm ${owner}`, rpm, 1)",
        "demand('window', `rpm ${owner}`, rpm && rpm + 1, 1)",
      ],
    ],
  },
  {
    name: 'keys-of-yesterday',
    oracle: 'vendor-keys',
    seed: 26,
    says: 'keys that a reload has changed or taken out are asked on',
    edits: [
      [
        'src/engine/vendor-keys/key-attempt.ts',
        'for (const key of this.upstream.keys ?? []) {',
        'for (const key of ((globalThis.planted ??= new Map()).has(this.upstream.name) ? globalThis.planted : globalThis.planted.set(this.upstream.name, this.upstream.keys)).get(this.upstream.name)) {',
      ],
    ],
  },
  {
    name: 'first-choice-named',
    oracle: 'vendor-keys',
    seed: 2,
    says: 'a charge of pictures names the upstream that was to be asked first',
    edits: [
      [
        'plugins/image-tier-billing/plugin.ts',
        'billing.charge.comesFrom(target.upstream.name)',
        'billing.charge.comesFrom',
      ],
    ],
  },
  {
    name: 'errors-of-200',
    oracle: 'vendor-keys',
    seed: 2,
    says: 'an error in an answer of 200 is taken for an answer',
    edits: [['src/engine/classify-response/classified-call.ts', ': this.#words?.inside()', ': undefined']],
  },
  {
    name: 'end-users-alike',
    oracle: 'end-users',
    seed: 42,
    says: 'every request is of the same end user',
    edits: [
      [
        'plugins/attribution/plugin.ts',
        'findName(endUserSources, request)',
        "findName(endUserSources, request) && 'ann'",
      ],
    ],
  },
  {
    name: 'end-user-without-limit',
    oracle: 'end-users',
    seed: 52,
    says: 'the requests of an end user are not counted',
    edits: [['plugins/ratelimit/limits.ts', 'attribution.endUserId === null', 'attribution.endUserId !== null']],
  },
  {
    name: 'end-users-of-one-limit',
    oracle: 'end-users',
    seed: 66,
    says: 'the end users of a user have one limit together',
    edits: [['plugins/ratelimit/limits.ts', 'end user ${attribution.endUserId} of', 'end user of']],
  },
  {
    name: 'end-user-unbooked',
    oracle: 'end-users',
    seed: 42,
    says: 'what an end user has spent is not added to the account',
    edits: [
      [
        'src/storage/accounts/levels.ts',
        'if (held.includes(kind)) return',
        "if (kind !== 'end_user' && held.includes(kind)) return",
      ],
    ],
  },
]

/**
 * Plants a fault in this process, before its modules are loaded. @throws Error when its code is not in the source any
 * more
 */
export function plantFault(name: string, among: readonly Sabotage[] = sabotages): void {
  const sabotage = among.find(one => one.name === name)
  if (!sabotage) throw new Error(`there is no planted fault '${name}'`)
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      const file = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : ''
      const edits = sabotage.edits.filter(([where]) => where === file)
      if (edits.length === 0) return loaded
      let text = Buffer.from(loaded.source as Uint8Array).toString()
      for (const [, find, put] of edits) {
        const found = findCode(text, find)
        if (!found) throw new Error(`'${name}' does not fit ${file} any more: ${find}`)
        text = text.slice(0, found.start) + put + text.slice(found.end)
      }
      return { ...loaded, source: text }
    },
  })
}
