import { budgetView, type BudgetStatus, budgetStatuses, formatMoney, parseMoney, readBudgets } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { formatPeriod } from '../key-settings.ts'
import { actor, withStorage } from '../with-storage.ts'
import { formatTable } from '../table.ts'

type Options = { readonly config: string; readonly format: string }

/**
 * Lists all budgets of groups, users, balances and keys, and those of the end users with the least left; or the
 * budgets of one end user.
 */
export async function listBudgets(options: Options & { readonly endUser?: string }): Promise<void> {
  await withStorage(options.config, async (storage, plan) => {
    const { endUser: called } = options
    const all: BudgetStatus[] = []
    let endUsers = 0
    for await (const page of readBudgets(storage, { plan, now: Date.now(), called })) {
      for (const one of page.budgets) all.push(one)
      endUsers += page.endUsers
    }
    const shown = all.filter(({ level }) => level === 'end_user').length
    if (shown < endUsers)
      say(`Of ${endUsers} end users with a budget, the ${shown} with the least left; --end-user NAME shows one.`)
    if (called !== undefined && all.length === 0)
      say(`The end user '${called}' has no budget, or has spent nothing of it yet.`)
    else if (all.length === 0) say('There are no budgets: spending of keys, users and groups is not limited.')
    if (options.format === 'json') for (const one of all) print(JSON.stringify(budgetView.show(one)))
    else if (all.length > 0) print(formatBudgets(all, plan.currency))
  })
}

export async function topUp(
  name: string,
  text: string,
  options: { readonly config: string; readonly note?: string; readonly paidIn?: string },
): Promise<void> {
  const amount = parseMoney(text) ?? 0
  if (amount === 0) throw new Exit(exitCodes.usage, `${text}: expected an amount over 0, such as 25.00`)
  const expected = options.paidIn === undefined ? undefined : parseMoney(options.paidIn)
  if (options.paidIn !== undefined && expected === undefined)
    throw new Exit(exitCodes.usage, `--paid-in ${options.paidIn}: expected an amount, such as 25.00`)
  await withStorage(options.config, async (storage, plan) => {
    const made = await storage.users.topUp(name, amount, options.note ?? null, actor, expected)
    if (!made) throw unknownUser(name)
    if ('paidIn' in made)
      throw new Exit(
        exitCodes.failure,
        `${formatMoney(made.paidIn)} ${plan.currency} was paid in for ${name} before. Nothing was added now.`,
      )
    say(`${made.id}: ${formatMoney(amount)} ${plan.currency} added to the balance of ${name}.`)
  })
}

export async function showBalance(name: string, options: Options): Promise<void> {
  await withStorage(options.config, async (storage, plan) => {
    const user = await storage.users.find(name)
    if (!user) throw unknownUser(name)
    const [sums, topUps] = await Promise.all([
      storage.books.levels([{ kind: 'balance', name }]),
      storage.users.topUps(name),
    ])
    const alone = { groups: new Map(), timeZone: plan.timeZone }
    const own = { ...user, budget: null }
    const [balance] = budgetStatuses({ plan: alone, users: [own], keys: [], sums, now: Date.now() })
    const shown = topUps.map(({ amount, at, ...rest }) => ({
      ...rest,
      amount: formatMoney(amount),
      at: new Date(at).toISOString(),
    }))
    if (options.format === 'json')
      return print(JSON.stringify({ balance: balance ? budgetView.show(balance) : null, topups: shown }))
    if (!balance) return print(`${name} has no prepaid balance: their requests do not need one.`)
    print(formatBudgets([balance], plan.currency))
    print('')
    print(
      formatTable(
        ['id', 'at', 'amount', 'by', 'note'],
        shown.map(one => [one.id, one.at, one.amount, one.by, one.note ?? '']),
      ),
    )
  })
}

function formatBudgets(all: readonly BudgetStatus[], currency: string): string {
  return formatTable(
    ['level', 'name', 'user', `amount (${currency})`, 'per', 'spent', 'held', 'left', 'renews'],
    all.map(one => {
      const { level, name, user, amount, spent, held, left, renews } = budgetView.show(one)
      const per = formatPeriod(one.per)
      return [level, name, user ?? '', amount, one.soft ? `${per}, soft` : per, spent, held, left, renews ?? '']
    }),
  )
}

function unknownUser(name: string): Exit {
  return new Exit(exitCodes.failure, `there is no user '${name}' (tollgate users list)`)
}
