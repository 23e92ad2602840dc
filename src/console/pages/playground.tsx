import type { ComponentType } from 'preact'
import { shownOperations, type ShownOperation } from '../../operations/shown.ts'
import { useLoad } from '../api/load.ts'
import { useSession } from '../api/session.ts'
import type { ModelList } from '../api/shapes.ts'
import { Empty } from '../kit/empty.tsx'
import { Combobox } from '../kit/combobox.tsx'
import { Labelled } from '../kit/labelled.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Tabs } from '../kit/tabs.tsx'
import { useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { tOperation } from '../words/operation.ts'
import type { BenchProps } from './playground/bench.tsx'
import { draftsOf } from './playground/drafts.ts'
import { Images } from './playground/images.tsx'
import { findPlace, keepPlace } from './playground/places.ts'
import { Chat, Embeddings, Rerank, Speech, Transcription } from './playground/texts.tsx'

type Form = NonNullable<ShownOperation['form']>

/** In the order of the tabs. */
const forms: { readonly [form in Form]: ComponentType<BenchProps> } = {
  images: props => <Images {...props} edit={false} />,
  edits: props => <Images {...props} edit />,
  conversation: Chat,
  voice: Speech,
  transcript: Transcription,
  vectors: Embeddings,
  ranks: Rerank,
}
const kinds = Object.entries(forms).flatMap(([form, component]) =>
  shownOperations.filter(one => one.form === form).map(one => [one.name, component] as const),
)

const optionOf = ({ name }: { readonly name: string }) => ({ value: name, text: name })

/** 试验台: sends requests as clients of the gateway do, and shows their cost before and after. */
export function Playground() {
  const { query, set } = useQuery()
  const load = useLoad<ModelList>('/models')
  draftsOf(useSession().user.name)
  const wanted = findPlace(query)
  return (
    <Page title={t('nav.playground')}>
      <Loaded of={load}>
        {({ models: all }) => {
          const models = all.filter(model => model.enabled && model.usable && !model.name.includes('*'))
          const offered = kinds.filter(([operation]) => models.some(model => model.operations.includes(operation)))
          const [operation, Bench] = offered.find(([one]) => one === wanted.op) ?? offered[0] ?? []
          if (!operation || !Bench) return <Empty title={t('models.none')} />
          const able = models.filter(model => model.operations.includes(operation))
          const model = able.find(({ name }) => name === wanted.model) ?? able[0]
          const other = able.find(({ name }) => name === wanted.vs && name !== model?.name)
          keepPlace({ op: operation, model: model?.name, vs: other?.name })
          return (
            <Tabs
              label={t('operation')}
              tabs={offered.map(([one]) => [one, tOperation(one)] as const)}
              value={operation}
              onPick={op => set({ op, model: null, vs: null })}
            >
              <div class="stack">
                <div class="filters">
                  <Labelled label={t('model')}>
                    {id => (
                      <Combobox
                        id={id}
                        value={model?.name ?? ''}
                        options={able.map(optionOf)}
                        onPick={name => set({ op: operation, model: name, vs: other?.name })}
                      />
                    )}
                  </Labelled>
                  {able.length > 1 && (
                    <Labelled label={t('play.compare')}>
                      {id => (
                        <Combobox
                          id={id}
                          value={other?.name ?? ''}
                          placeholder={t('play.compare.none')}
                          options={able.filter(one => one !== model).map(optionOf)}
                          onPick={name => set({ op: operation, model: model?.name, vs: name })}
                        />
                      )}
                    </Labelled>
                  )}
                </div>
                {model && <Bench key={operation} models={other ? [model, other] : [model]} operation={operation} />}
              </div>
            </Tabs>
          )
        }}
      </Loaded>
    </Page>
  )
}
