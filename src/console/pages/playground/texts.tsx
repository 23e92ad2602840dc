import { useEffect, useState } from 'preact/hooks'
import type { Model } from '../../api/shapes.ts'
import { AreaField, FieldError, FileField, Form, TextField, type Values } from '../../kit/form.tsx'
import { Table } from '../../kit/table.tsx'
import { t } from '../../words/index.ts'
import { readStream } from './read-stream.ts'
import { Ran, useRun } from './run.tsx'

type Of = { readonly model: Model }

/** @throws FieldError */
function need(values: Values, name: string): string {
  const text = values.get(name).trim()
  if (text === '') throw new FieldError(name, t('required'))
  return text
}

export function Chat({ model: { name: model } }: Of) {
  const run = useRun<string>()
  return (
    <div class="bench">
      <div class="card">
        <Form
          submit={t('send')}
          onSubmit={values => {
            const content = need(values, 'message')
            const system = values.get('system').trim()
            const messages = [...(system ? [{ role: 'system', content: system }] : []), { role: 'user', content }]
            run.start('/v1/chat/completions', { model, stream: true, messages }, readStream)
          }}
        >
          <AreaField name="system" label={t('play.system')} rows={2} />
          <AreaField name="message" label={t('play.message')} rows={6} />
        </Form>
      </div>
      <Ran of={run}>{text => <p class="reply theirs">{text}</p>}</Ran>
    </div>
  )
}

export function Speech({ model: { name: model } }: Of) {
  const run = useRun<Blob>()
  return (
    <div class="bench">
      <div class="card">
        <Form
          submit={t('send')}
          onSubmit={values => {
            const body = { model, input: need(values, 'input'), voice: need(values, 'voice') }
            run.start('/v1/audio/speech', body, response => response.blob())
          }}
        >
          <AreaField name="input" label={t('play.text')} rows={4} />
          <TextField name="voice" label={t('play.voice')} value="alloy" />
        </Form>
      </div>
      <Ran of={run}>{sound => <Sound of={sound} />}</Ran>
    </div>
  )
}

function Sound({ of }: { readonly of: Blob }) {
  const [address, setAddress] = useState('')
  useEffect(() => {
    const url = URL.createObjectURL(of)
    setAddress(url)
    return () => URL.revokeObjectURL(url)
  }, [of])
  return address === '' ? null : <audio controls src={address} aria-label={t('play.result')} />
}

export function Transcription({ model: { name: model } }: Of) {
  const run = useRun<string>()
  const [file, setFile] = useState<File | undefined>()
  return (
    <div class="bench">
      <div class="card">
        <Form
          submit={t('send')}
          onSubmit={() => {
            if (!file) throw new FieldError('file', t('required'))
            const body = new FormData()
            body.append('model', model)
            body.append('file', file)
            run.start('/v1/audio/transcriptions', body, async response => {
              const { text } = (await response.json()) as { text?: string }
              return text ?? ''
            })
          }}
        >
          <FileField name="file" label={t('play.sound')} accept="audio/*" onFiles={([one]) => setFile(one)} />
        </Form>
      </div>
      <Ran of={run}>{text => <p class="reply theirs">{text}</p>}</Ran>
    </div>
  )
}

const shownNumbers = 8

export function Embeddings({ model: { name: model } }: Of) {
  const run = useRun<readonly (readonly number[])[]>()
  return (
    <div class="bench">
      <div class="card">
        <Form
          submit={t('send')}
          onSubmit={values => {
            const input = need(values, 'input').split('\n')
            run.start('/v1/embeddings', { model, input, encoding_format: 'float' }, async response => {
              const { data = [] } = (await response.json()) as { data?: readonly { embedding: readonly number[] }[] }
              return data.map(({ embedding }) => embedding)
            })
          }}
        >
          <AreaField name="input" label={t('play.lines')} rows={5} />
        </Form>
      </div>
      <Ran of={run}>
        {vectors => (
          <Table
            label={t('play.result')}
            rows={vectors.map((vector, i) => ({ vector, i }))}
            rowKey={row => String(row.i)}
            columns={[
              { head: '#', cell: ({ i }) => i + 1 },
              { head: t('play.dimensions'), numeric: true, cell: ({ vector }) => vector.length },
              {
                head: t('play.numbers'),
                wide: true,
                cell: ({ vector }) => (
                  <code>
                    {vector
                      .slice(0, shownNumbers)
                      .map(one => one.toFixed(4))
                      .join(', ')}
                    {vector.length > shownNumbers && ' …'}
                  </code>
                ),
              },
            ]}
          />
        )}
      </Ran>
    </div>
  )
}

type Ranked = { readonly index: number; readonly relevance_score: number; readonly text: string }

export function Rerank({ model: { name: model } }: Of) {
  const run = useRun<readonly Ranked[]>()
  return (
    <div class="bench">
      <div class="card">
        <Form
          submit={t('send')}
          onSubmit={values => {
            const documents = need(values, 'documents').split('\n')
            run.start('/v1/rerank', { model, query: need(values, 'query'), documents }, async response => {
              const { results = [] } = (await response.json()) as { results?: readonly Omit<Ranked, 'text'>[] }
              return results.map(one => ({ ...one, text: documents[one.index] ?? '' }))
            })
          }}
        >
          <TextField name="query" label={t('play.query')} />
          <AreaField name="documents" label={t('play.documents')} rows={6} />
        </Form>
      </div>
      <Ran of={run}>
        {ranked => (
          <Table
            label={t('play.result')}
            rows={ranked}
            rowKey={row => String(row.index)}
            columns={[
              { head: t('play.score'), numeric: true, cell: row => row.relevance_score.toFixed(4) },
              { head: t('play.text'), wide: true, cell: row => <span class="theirs">{row.text}</span> },
            ]}
          />
        )}
      </Ran>
    </div>
  )
}
