import { formatMoney, type Group, modelsBarred, type User } from '../index.ts'
import { formatPeriod, limitKinds, type SettingOptions } from './key-settings.ts'

/** The changed settings of a user, one sentence for each. */
export function describeBounds(
  { name, keyBounds, keysMax }: Pick<User, 'name' | 'keyBounds' | 'keysMax'>,
  given: SettingOptions & { readonly keysMax?: string },
): readonly string[] {
  const { models, ips, limits, budget, expiresAt } = keyBounds
  const of = `Keys created by ${name}`
  const sentences: string[] = []
  if (given.models !== undefined)
    sentences.push(models ? `${of} may use ${models.to.join(', ')}.` : `${of} may use any model.`)
  if (given.ips !== undefined)
    sentences.push(ips ? `${of} may be used only from ${ips.to.join(', ')}.` : `${of} may be used from any address.`)
  if (given.rpm !== undefined || given.tpm !== undefined || given.concurrency !== undefined) {
    const most = limitKinds.flatMap(kind => {
      const count = limits?.to[kind]
      return count === undefined ? [] : [`${kind} ${count}`]
    })
    sentences.push(most.length > 0 ? `${of} may have at most ${most.join(', ')}.` : `${of} may have any limits.`)
  }
  if (given.budget !== undefined || given.budgetPeriod !== undefined)
    sentences.push(
      budget
        ? `${of} may each have a budget of at most ${formatMoney(budget.to.amount)} (${formatPeriod(budget.to.per)}).`
        : `${of} may have any budget.`,
    )
  if (given.expires !== undefined)
    sentences.push(
      expiresAt
        ? `${of} expire at ${new Date(expiresAt.to).toISOString()} at the latest.`
        : `${of} may have no expiry.`,
    )
  if (given.keysMax !== undefined)
    sentences.push(
      keysMax === null
        ? `${name} may have as many keys as the group allows.`
        : `${name} may have at most ${keysMax} keys.`,
    )
  return sentences
}

/** A group of the configuration, as the command line names it. */
export type NamedGroup = { readonly name: string } & Pick<Group, 'models'>

/** The models of a key that its group does not allow, in a sentence; undefined if there are none. */
export function describeBarred(models: readonly string[] | null, group: NamedGroup | undefined): string | undefined {
  const barred = modelsBarred(models, group)
  if (!group || barred.length === 0) return undefined
  return `${barred.join(', ')} ${barred.length === 1 ? 'is' : 'are'} not allowed for group ${group.name}.`
}

/** The models that a key may use, those that its group excludes, and ineffective settings. */
export function describeModels(
  models: readonly string[] | null,
  user: Pick<User, 'name' | 'keyBounds'> | undefined,
  group?: NamedGroup,
): string {
  const may = describeAllowed(models, group)
  const bound = user?.keyBounds.models
  return bound
    ? `${may} The restriction to ${bound.to.join(', ')} only applies to keys created by ${user.name}; use --models to restrict this one.`
    : may
}

function describeAllowed(models: readonly string[] | null, group: NamedGroup | undefined): string {
  if (!models) return 'It may use every model of its group.'
  const barred = describeBarred(models, group)
  if (barred === undefined) return `It may use ${models.join(', ')}.`
  const left = models.filter(model => !modelsBarred(models, group).includes(model))
  return `It may use ${left.join(', ') || 'no model'}; ${barred}`
}
