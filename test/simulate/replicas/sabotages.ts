import type { Sabotage } from '../sabotage.ts'
import type { FleetKind } from './plan.ts'

/** A planted fault of several gateways, and the operations that must be frequent for it to show within a few seeds. */
export type FleetSabotage = Sabotage & { readonly likes: readonly FleetKind[] }

export const fleetSabotages: readonly FleetSabotage[] = [
  {
    name: 'fence-open',
    oracle: 'fenced',
    says: 'a gateway that lost its lease goes on adding lines to charges that wait for a person',
    likes: ['freeze long', 'burst'],
    edits: [
      [
        'src/storage/ledger/charge-item.ts',
        "AND state = 'reserved' AND owner = ? AND epoch = ?",
        "AND state IN ('reserved', 'needs_review') AND owner = ? AND epoch <= ?",
      ],
    ],
  },
  {
    name: 'looks-then-holds',
    oracle: 'overdraft',
    says: 'a budget is looked at by one statement and moved by another',
    likes: ['spend'],
    edits: [
      [
        'src/storage/ledger/hold.ts',
        '`UPDATE key SET held = held + ? WHERE id = ? AND (budget IS NULL OR budget_soft = 1 OR (${isPlain} AND ${left} >= ?)) RETURNING ${foundColumns}`,\n    request.hold,',
        '`SELECT ${foundColumns} FROM key WHERE id = ? AND (budget IS NULL OR budget_soft = 1 OR (${isPlain} AND ${left} >= ?))`,',
      ],
      [
        'src/storage/ledger/hold.ts',
        '  yield ask(\n    insertReserved,',
        "  yield ask('UPDATE key SET held = held + ? WHERE id = ?', request.hold, facts.keyId)\n  yield ask(\n    insertReserved,",
      ],
    ],
  },
  {
    name: 'counts-alone',
    oracle: 'exact-limits',
    says: 'each gateway counts by itself although Redis is there',
    likes: ['burst', 'spend'],
    edits: [
      [
        'src/storage/counters/redis/counters.ts',
        'return this.#takeShared(demands, whenDown)',
        'return this.#own.take(demands)',
      ],
    ],
  },
  {
    name: 'nobody-looks-after',
    oracle: 'stuck-money',
    says: 'nobody ends what a gateway that died has left open',
    likes: ['kill', 'burst'],
    edits: [
      ['src/storage/ledger/recover.ts', 'if (lapsed === 0 && !left) return', 'if (lapsed >= 0 || !left) return'],
      [
        'src/storage/ledger/recover.ts',
        'const recovery = yield* endLeft({ ...identity, epoch }, at)',
        'const recovery = { epoch, settled: 0, voided: 0, toReview: 0 }',
      ],
    ],
  },
  {
    name: 'key-of-one-gateway',
    oracle: 'idempotent',
    says: 'an idempotency key is not written down, so the next gateway does not know it',
    likes: ['race', 'again'],
    edits: [['src/storage/ledger/hold.ts', 'idempotency?.key ?? null', 'null']],
  },
  {
    name: 'changes-unseen',
    oracle: 'known',
    says: 'a gateway does not hear of keys that were changed at another',
    likes: ['disable', 'burst'],
    edits: [
      [
        'plugins/auth/key-cache.ts',
        'if (revision !== this.#revision) this.#forget(await this.#changesSince(this.#revision))',
        '',
      ],
    ],
  },
  {
    name: 'refund-unchecked',
    oracle: 'decided',
    says: 'nobody looks whether a charge was given back before',
    likes: ['refund twice', 'ask'],
    edits: [
      [
        'src/storage/ledger/refund.ts',
        "const left = whole(charge, 'amount') - before",
        "const left = whole(charge, 'amount')",
      ],
    ],
  },
  {
    name: 'refund-moves-first',
    oracle: 'decided',
    says: 'of two who give one charge back at once the second meets a fault of the database',
    likes: ['refund twice', 'ask'],
    edits: [
      ['src/storage/ledger/refund.ts', '  yield ask(lockKey, keyId)\n', ''],
      [
        'src/storage/ledger/refund.ts',
        '  yield* giveBack(keyId, amount, then)\n  yield* giveLevelsBack(identity, charge, amount, then, at)',
        '  yield* giveLevelsBack(identity, charge, amount, then, at)',
      ],
      [
        'src/storage/ledger/refund.ts',
        "yield* postAll(identity, [{ ...entry, kind: 'refund', nth: earlier.length }], table)",
        "yield* giveBack(keyId, amount, yield* bookedOn(identity.zone, whole(charge, 'ended_at')))\n  yield* postAll(identity, [{ ...entry, kind: 'refund', nth: earlier.length }], table)",
      ],
    ],
  },
  {
    // Both the storage and its caller end the charge: if only one of them forgets it, nothing changes.
    name: 'doubt-forgotten',
    oracle: 'stuck-money',
    says: 'a charge whose opening was in doubt is taken for none, by the storage and by whoever asked for it',
    likes: ['commits in doubt', 'spend'],
    edits: [
      [
        'src/storage/ledger/endings.ts',
        "if (isUnavailable(error)) this.#queue.owe(id, { change: 'endEmpty', given })",
        '',
      ],
      [
        'plugins/image-tier-billing/plugin.ts',
        'ledger.hold({ facts, hold: quoted.atMost, idempotency }).catch(throwUnavailable)',
        'ledger.hold({ facts, hold: quoted.atMost, idempotency }).catch(cause => {\n context.slots.put(billingSlot, undefined)\n throwUnavailable(cause) })',
      ],
      [
        'plugins/token-usage/plugin.ts',
        "if (error instanceof Failure && error.code === 'insufficient_quota') counting.held = false",
        'counting.held = false',
      ],
    ],
  },
  {
    name: 'line-doubt-forgotten',
    oracle: 'stuck-money',
    says: 'a charge whose line was in doubt is ended as one without lines, or not at all',
    likes: ['gone at a commit'],
    edits: [['src/storage/ledger/endings.ts', 'if (isUnavailable(error)) this.#queue.doubt(id)', '']],
  },
  {
    name: 'end-forgotten',
    oracle: 'stuck-money',
    says: 'the end of a charge that could not be written is not written later',
    likes: ['commits in doubt', 'postgres refused', 'burst'],
    edits: [
      [
        'src/storage/ledger/endings.ts',
        'if (isUnavailable(error) && !this.#writer.healthy()) this.#queue.owe(id, ending)',
        'if (isUnavailable(error) && !this.#writer.healthy()) void id',
      ],
    ],
  },
  {
    name: 'tokens-alone',
    oracle: 'exact-tokens',
    says: 'each gateway counts tokens by itself: all together count a request as one of them',
    likes: ['words'],
    edits: [
      [
        'src/storage/counters/redis/turn.ts',
        'words.push(numbers.of(demand), limit, amount, Number(shadow))',
        'words.push(numbers.of(demand), limit, Math.min(1, amount), Number(shadow))',
      ],
    ],
  },
  {
    name: 'reload-unheard',
    oracle: 'price',
    says: 'a gateway says that it has read its configuration again and goes on with the old one',
    likes: ['reload all', 'ask'],
    edits: [['src/gateway/gateway.ts', 'engine.swap(running)', 'void running']],
  },
  {
    name: 'local-refuses',
    oracle: 'counted',
    says: 'who was told to count by itself without Redis refuses',
    likes: ['redis refused', 'burst'],
    edits: [
      [
        'src/storage/counters/redis/counters.ts',
        "      if (whenDown === 'refuse') throw new CountersDown('the counters do not answer', { cause: error })\n      return this.#own.take(demands)",
        "      throw new CountersDown('the counters do not answer', { cause: error })",
      ],
    ],
  },
  {
    name: 'conflict-drops',
    oracle: 'faultless',
    says: 'a charge that others were in the way of four times is dropped',
    likes: ['writes fail', 'ask'],
    edits: [
      [
        'src/storage/postgres/failure.ts',
        "if (conflictCodes.has(stateOf(error) ?? ''))",
        'if (conflictCodes.size === 0)',
      ],
    ],
  },
  {
    name: 'deaths-unheard',
    oracle: 'vendor-keys',
    seed: 2,
    says: 'a gateway does not hear of keys of vendors that others have found dead',
    likes: ['key dies'],
    edits: [
      [
        'src/gateway/vendor-key-service.ts',
        'this.#report(status, states.learn(status))',
        "if (status.state === 'active') this.#report(status, states.learn(status))",
      ],
    ],
  },
  {
    name: 'returns-unheard',
    oracle: 'vendor-keys',
    seed: 2,
    says: 'a gateway does not hear of keys of vendors that are asked again',
    likes: ['key dies'],
    edits: [
      [
        'src/gateway/vendor-key-service.ts',
        'this.#report(status, states.learn(status))',
        "if (status.state !== 'active') this.#report(status, states.learn(status))",
      ],
    ],
  },
  {
    name: 'each-tells',
    oracle: 'key-deaths',
    seed: 2,
    says: 'each gateway that finds a key dead tells so',
    likes: ['key dies'],
    edits: [['src/storage/vendor-keys.ts', 'if (isSame && by === null) return', '']],
  },
]
