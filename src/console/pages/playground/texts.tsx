import { useEffect, useState } from 'preact/hooks'
import { Button } from '../../kit/button.tsx'
import { FieldError } from '../../kit/field-error.ts'
import { AreaField, FileField, TextField, type Values } from '../../kit/form.tsx'
import { Table } from '../../kit/table.tsx'
import { t } from '../../words/index.ts'
import { Bench, type BenchProps } from './bench.tsx'
import { useFiles, useText } from './drafts.ts'
import { Estimate } from './estimate.tsx'
import { FileList } from './file-list.tsx'
import { readStream } from './read-stream.ts'
import { Turns, useTurns } from './turns.tsx'

/** @throws FieldError */
function need(values: Values, name: string): string {
  const text = values.get(name).trim()
  if (text === '') throw new FieldError(name, () => t('required'))
  return text
}

/** A number of a field, if it is one. @throws FieldError */
function numberOf(values: Values, name: string, isWhole: boolean): number | undefined {
  const text = values.get(name).trim()
  if (text === '') return undefined
  const number = Number(text)
  if (!Number.isFinite(number) || number < 0 || (isWhole && !Number.isInteger(number)))
    throw new FieldError(name, () => t('play.number'))
  return number
}

/** A conversation: each message is sent with the turns before it. */
export function Chat(of: BenchProps) {
  const { operation, models } = of
  const [system, setSystem] = useText(operation, 'system')
  const [message, setMessage] = useText(operation, 'message')
  const [temperature, setTemperature] = useText(operation, 'temperature')
  const [maxTokens, setMaxTokens] = useText(operation, 'max_tokens')
  const [sent, setSent] = useText(operation, 'sent')
  const [turns, setTurns] = useTurns(operation)
  const history = [...(system.trim() ? [{ role: 'system', content: system.trim() }] : []), ...turns]
  return (
    <Bench<string>
      {...of}
      ask={values => {
        const content = need(values, 'message')
        const [warmth, most] = [numberOf(values, 'temperature', false), numberOf(values, 'max_tokens', true)]
        const body = {
          stream: true,
          messages: [...history, { role: 'user', content }],
          ...(warmth !== undefined && { temperature: warmth }),
          ...(most !== undefined && { max_tokens: most }),
        }
        setSent(content)
        return model => ({ path: '/v1/chat/completions', body: { model, ...body }, read: readStream })
      }}
      fields={
        <>
          <AreaField name="system" label={t('play.system')} rows={2} value={system} onInput={setSystem} />
          <Turns of={turns} onClear={() => setTurns([])} />
          <AreaField name="message" label={t('play.message')} rows={6} value={message} onInput={setMessage} />
          <div class="row">
            <TextField
              name="temperature"
              label={t('play.temperature')}
              inputMode="decimal"
              value={temperature}
              onInput={setTemperature}
            />
            <TextField
              name="max_tokens"
              label={t('play.max_tokens')}
              inputMode="numeric"
              value={maxTokens}
              onInput={setMaxTokens}
            />
          </div>
          <Estimate
            models={models}
            texts={[...history.map(({ content }) => content), message]}
            maxTokens={/^\d+$/.test(maxTokens.trim()) ? Number(maxTokens) : undefined}
          />
        </>
      }
    >
      {(text, isOver) => (
        <>
          <p class="reply theirs">{text}</p>
          {isOver && sent !== '' && (
            <div>
              <Button
                onClick={() => {
                  setTurns([...turns, { role: 'user', content: sent }, { role: 'assistant', content: text }])
                  setSent('')
                  setMessage('')
                }}
              >
                {t('play.turns.next')}
              </Button>
            </div>
          )}
        </>
      )}
    </Bench>
  )
}

export function Speech(of: BenchProps) {
  const [input, setInput] = useText(of.operation, 'input')
  const [voice, setVoice] = useText(of.operation, 'voice', 'alloy')
  return (
    <Bench<Blob>
      {...of}
      ask={values => {
        const body = { input: need(values, 'input'), voice: need(values, 'voice') }
        return model => ({
          path: '/v1/audio/speech',
          body: { model, ...body },
          read: response => response.blob(),
        })
      }}
      fields={
        <>
          <AreaField name="input" label={t('play.text')} rows={4} value={input} onInput={setInput} />
          <TextField name="voice" label={t('play.voice')} value={voice} onInput={setVoice} />
        </>
      }
    >
      {sound => <Sound of={sound} />}
    </Bench>
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

export function Transcription(of: BenchProps) {
  const [files, setFiles] = useFiles(of.operation, 'file')
  return (
    <Bench<string>
      {...of}
      ask={() => {
        const [file] = files
        if (!file) throw new FieldError('file', () => t('required'))
        return model => {
          const body = new FormData()
          body.append('model', model)
          body.append('file', file)
          return {
            path: '/v1/audio/transcriptions',
            body,
            async read(response) {
              const { text } = (await response.json()) as { text?: string }
              return text ?? ''
            },
          }
        }
      }}
      fields={
        <>
          <FileField
            name="file"
            label={t('play.sound')}
            accept="audio/*"
            onFiles={([file]) => setFiles(file ? [file] : [])}
          />
          <FileList files={files} label={t('play.sound')} onChange={setFiles} pictures={false} />
        </>
      }
    >
      {text => <p class="reply theirs">{text}</p>}
    </Bench>
  )
}

const shownNumbers = 8

export function Embeddings(of: BenchProps) {
  const [input, setInput] = useText(of.operation, 'input')
  return (
    <Bench<readonly (readonly number[])[]>
      {...of}
      ask={values => {
        const lines = need(values, 'input').split('\n')
        return model => ({
          path: '/v1/embeddings',
          body: { model, input: lines, encoding_format: 'float' },
          async read(response) {
            const { data = [] } = (await response.json()) as { data?: readonly { embedding: readonly number[] }[] }
            return data.map(({ embedding }) => embedding)
          },
        })
      }}
      fields={<AreaField name="input" label={t('play.lines')} rows={5} value={input} onInput={setInput} />}
    >
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
    </Bench>
  )
}

type Ranked = { readonly index: number; readonly relevance_score: number; readonly text: string }

export function Rerank(of: BenchProps) {
  const [query, setQuery] = useText(of.operation, 'query')
  const [lines, setLines] = useText(of.operation, 'documents')
  return (
    <Bench<readonly Ranked[]>
      {...of}
      ask={values => {
        const documents = need(values, 'documents').split('\n')
        const params = { query: need(values, 'query'), documents }
        return model => ({
          path: '/v1/rerank',
          body: { model, ...params },
          async read(response) {
            const { results = [] } = (await response.json()) as { results?: readonly Omit<Ranked, 'text'>[] }
            return results.map(one => ({ ...one, text: documents[one.index] ?? '' }))
          },
        })
      }}
      fields={
        <>
          <TextField name="query" label={t('play.query')} value={query} onInput={setQuery} />
          <AreaField name="documents" label={t('play.documents')} rows={6} value={lines} onInput={setLines} />
        </>
      }
    >
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
    </Bench>
  )
}
