import {
  Kysely,
  type KyselyPlugin,
  OperationNodeTransformer,
  PostgresDialect,
  type PrimitiveValueListNode,
  type ValueNode,
} from 'kysely'
import type pg from 'pg'
import { toText } from './connect.ts'

/** Changes the parameters of queries as those of other statements are changed. */
class Texts extends OperationNodeTransformer {
  protected override transformValue(node: ValueNode): ValueNode {
    return { ...node, value: toText(node.value) }
  }

  protected override transformPrimitiveValueList(node: PrimitiveValueListNode): PrimitiveValueListNode {
    return { ...node, values: node.values.map(toText) }
  }
}

const texts = new Texts()
const plugin: KyselyPlugin = {
  transformQuery: ({ node }) => texts.transformNode(node),
  transformResult: ({ result }) => Promise.resolve(result),
}

/** Kysely over a pool, which the caller closes. */
export function openKysely<Tables>(pool: pg.Pool): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), plugins: [plugin] })
}
