import { type Body, type ForwardRule, type Model, serves } from '../domain/index.ts'
import { fail } from './errors.ts'
import { isForwarded } from './forwarded-fields.ts'

/**
 * Refuses tools that the upstream would run and the model's family does not list, and any tool with two types: the
 * upstream may read the other one. Dropped fields declare nothing.
 * @throws Failure vendor_tool_refused, tool_repeated
 */
export function checkTools(model: Model, body: Body, rule: ForwardRule | undefined): void {
  if (body.kind !== 'json') return
  const { tools } = body.json.declared
  if (tools.length === 0) return
  const { family } = model
  const sent = tools.filter(({ field }) => isForwarded(rule, field))
  for (const { name, place, isDoubled } of sent)
    if (isDoubled) throw fail('tool_repeated', { place, tool: name }, { param: place })
  if (!family.vendorTools) return
  for (const { name, place, isPart } of sent) {
    // A nested tool is sent or dropped with its parent.
    if (isPart || serves(family.vendorTools, name)) continue
    throw fail('vendor_tool_refused', { model: model.name, tool: name, place, family: family.name }, { param: place })
  }
}
