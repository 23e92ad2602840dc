import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { picture } from '../harness/pictures.ts'
import { at, eventsIn, follow, openVendors, pictureIn } from '../harness/vendors.ts'

const vendors = await openVendors()
const small = picture(40, 30).b64_json
const dataUrl = `data:image/png;base64,${small}`

t.test('seedream: one address for everything', async t => {
  const seedream = vendors.vendor('seedream', { authorization: 'Bearer any' })
  const path = '/api/v3/images/generations'
  const ask = async (prompt: string, more: object = {}, model = 'seedream-4-0-250828') =>
    seedream.post(path, { model, prompt, ...more })
  const set = (count: number) => ({
    sequential_image_generation: 'auto',
    sequential_image_generation_options: { max_images: count },
  })

  t.test('a tier gives a size of its own, which the item tells', async t => {
    const answer = await ask('s1')
    t.match(answer.json, {
      data: [{ size: '1760x2368', output_format: 'jpeg' }],
      usage: { generated_images: 1, output_tokens: 16280 },
    })
    t.equal(await follow(at(answer.json, 'data.0.url')), '1760x2368 jpg')
    const sized = await ask('s1', { size: '1024x1024', response_format: 'b64_json', image: [dataUrl, dataUrl] })
    t.equal(pictureIn(at(sized.json, 'data.0.b64_json')), '1024x1024 jpg')
    t.match(sized.json, { usage: { input_images: 2 } })
    t.match(await seedream.made('s1'), { pictures: 2, cost: '0.06' })
  })

  t.test('in a set a picture that failed stands among the others, and is not counted', async t => {
    const answer = await ask('s2 [[half]]', set(4))
    t.match(answer.json, {
      data: [{ url: String }, { error: { code: String } }, { url: String }, { error: {} }],
      usage: { generated_images: 2 },
    })
    t.match(await seedream.made('s2 [[half]]'), { pictures: 2, failed: 2, cost: '0.06' })
    t.match(await ask('s2 [[moderated]]', set(3)), { status: 400, json: { error: { code: /Sensitive/ } } })
  })

  t.test('pixels decide the price of pro, and layers cost half', async t => {
    await ask('s3', { size: '1K' }, 'doubao-seedream-5-0-pro')
    await ask('s3', { size: '2048x2048' }, 'doubao-seedream-5-0-pro')
    t.match(await seedream.made('s3'), { cost: '0.135' })
    const layers = await ask('s3 layers', { size: '1K', layer_decomposition: true }, 'doubao-seedream-5-0-pro')
    t.match(layers.json, { data: [{ z_index: 0 }, {}, {}, { z_index: 3 }] })
    t.match(await seedream.made('s3 layers'), { pictures: 4, cost: '0.09' })
  })

  t.test('in its stream partial_succeeded is a final picture and completed has none', async t => {
    const answer = await ask('s4 [[half]]', { ...set(2), stream: true })
    t.same(
      eventsIn(answer.text).map(({ name }) => name),
      ['partial_succeeded', 'partial_failed', 'completed']
        .map(word => `image_generation.${word}`)
        .concat(undefined as never),
    )
    t.match(eventsIn(answer.text), [
      { data: { image_index: 0, url: String, size: '1760x2368' } },
      { data: { image_index: 1, error: { code: String } } },
      { data: { usage: { generated_images: 1 } } },
    ])
    t.ok(answer.text.endsWith('data: [DONE]\n\n'))
    t.match(await ask('s4', { stream: true }, 'doubao-seedream-5-0-pro'), {
      status: 400,
      json: { error: { param: 'stream' } },
    })
  })

  t.test('what it does not know is refused', async t => {
    for (const [more, param] of [
      [{ n: 2 }, 'n'],
      [{ quality: 'high' }, 'quality'],
      [{ size: '2k' }, 'size'],
      [{ size: '512x512' }, 'size'],
      [{ image: 'none' }, 'image'],
    ] as const)
      t.match(await ask('x', more), { status: 400, json: { error: { code: 'InvalidParameter', param } } }, param)
    t.match(await ask('x [[refused]]'), { status: 400, json: { error: { code: /Sensitive/ } } })
    t.match(await ask('x', {}, 'other'), { status: 404 }, caseName({ model: 'other' }))
    t.match(await vendors.vendor('seedream', {}).post(path, {}), { status: 401 })
  })
})
