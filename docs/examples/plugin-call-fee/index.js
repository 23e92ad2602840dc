import { callerSlot, chargeFacts, definePlugin, failures, formatMoney, sharedRows, tellOverdrawn } from 'tollgate'

const fail = failures({
  insufficient_quota: sharedRows.insufficient_quota,
  storage_unavailable: sharedRows.storage_unavailable,
})

/** What a model's prices call it, and what a charge's line is for. */
const unit = 'call'

/** The price of one request, with the line of gateway.yaml that it stands on; undefined where the model is free. */
function priceOf(model) {
  const price = model.free ? undefined : model.prices.get(unit)
  return price && { micros: price.micros, at: `${price.origin.file}:${price.origin.line}` }
}

const costs = (operation, facet) => !facet.free_operations.includes(operation)

/** One price for each request that an upstream answers with success, whatever it asks. */
export default definePlugin({
  name: 'call-fee',
  charges: true,
  // Its charges carry { kind: 'call-fee', … }: by that word `record` and `replay` are found, for as long as they are kept.
  rule: 'call-fee',
  needs: [callerSlot],

  // `call-fee: {}` in a family. Families without it are not looked at.
  facet: {
    type: 'object',
    additionalProperties: false,
    properties: {
      free_operations: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        default: [],
        description: 'Operations that cost nothing.',
      },
    },
  },

  inspect: (_facet, family, models) =>
    models
      .filter(model => !model.free && !model.prices.has(unit))
      .map(model => ({
        severity: 'error',
        code: 'call_unpriced',
        message: `model ${model.name} of family ${family.name} has no price for a ${unit}`,
        remedy: `add ${unit}: "…" to its prices`,
        path: ['prices'],
        model: model.name,
      })),

  // Before the fact: `tollgate explain`, the playground and the calculator of the price page.
  quote({ model, operation }, facet) {
    const price = costs(operation, facet) ? priceOf(model) : undefined
    if (!price) return undefined
    const { micros, at } = price
    return {
      price: {
        n: 1,
        tier: unit,
        source: null,
        price: micros,
        priceAt: at,
        expected: micros,
        atMost: micros,
        prices: [{ tier: unit, price: micros }],
      },
    }
  },

  // The page of prices, and the console's page of models.
  prices({ model }) {
    const price = priceOf(model)
    return { units: price ? [{ unit, price: formatMoney(price.micros), per: 1 }] : [] }
  },

  // After the fact: the log, GET /v1/charges/{id}, the console's details and the command line show this.
  record({ lines, rule }) {
    const price = formatMoney(rule.price)
    return {
      text: lines.length === 0 ? '-' : `1 ${unit}`,
      count: null,
      rule: {
        text: 'one price for each request that is answered',
        rows: [{ tier: unit, long_edge_max: null, price, per: 1, at: rule.at }],
        multiplier: 'group multiplier not applied: a call has one price for all',
      },
      line: () => ({ why: `1 ${unit} × ${price}`, at: rule.at }),
    }
  },

  // `tollgate ledger replay`: by nothing but what is stored with the charge.
  replay: ({ lines, rule }) =>
    lines.map(({ index, quantity, source }) => ({ index, tier: unit, source, price: rule.price * quantity })),

  create(_options, { log, stores: { ledger } }) {
    /** Requests that are held for, and whether they have been charged. */
    const calls = new Map()
    return {
      onTarget(_ex, { model }) {
        if (priceOf(model) && !ledger.healthy()) throw fail('storage_unavailable', {}, { retryAfterMs: 5_000 })
      },

      // Every check has passed: the price is held, or the request refused, before an upstream is asked.
      async onAdmit(ex, target, facet) {
        const price = costs(ex.route.operation, facet) ? priceOf(target.model) : undefined
        if (!price) return undefined
        const rule = { kind: 'call-fee', price: price.micros, at: price.at, warnings: [] }
        const facts = chargeFacts(ex, target, { rule })
        // Known before the hold is: when its commit is in doubt, the end of the exchange still gives it back.
        calls.set(ex.id, { price: price.micros, charged: false })
        const held = await ledger.hold({ facts, hold: price.micros, idempotency: null }).catch(cause => {
          throw fail('storage_unavailable', {}, { cause, retryAfterMs: 5_000 })
        })
        if (held.kind !== 'held') {
          calls.delete(ex.id)
          throw fail('insufficient_quota', tellOverdrawn(held, price.micros, facts.currency))
        }
        ex.notes.charge = true
        return undefined
      },

      // The charge is settled before the caller has a byte of the answer.
      async onReply(ex, reply) {
        const call = calls.get(ex.id)
        if (!call || reply.status < 200 || reply.status > 299) return reply
        const line = { index: 0, tier: unit, source: 'output', width: null, height: null, flags: [], quantity: 1 }
        call.charged =
          (await ledger.line(ex.id, { ...line, price: call.price })) &&
          (await ledger.settle({ id: ex.id, delivery: 'unconfirmed', reason: null }))
        if (!call.charged) throw fail('storage_unavailable', {}, { retryAfterMs: 5_000 })
        return reply
      },

      // Whatever happened, what was held is ended: charged, given back, or left to a person.
      async onSettle(ex, outcome) {
        const call = calls.get(ex.id)
        if (!call) return
        calls.delete(ex.id)
        try {
          if (call.charged) {
            if (outcome.kind === 'answered') ledger.delivered(ex.id)
          } else if (outcome.reach === 'unknown') await ledger.review(ex.id, 'the upstream gave no answer')
          else await ledger.void(ex.id, 'no answer of success came')
        } catch (err) {
          // Nothing is lost: the hold stays until the gateway's recovery ends it.
          log.error({ charge: ex.id, err }, 'a charge could not be ended; recovery will')
        }
      },
    }
  },
})
