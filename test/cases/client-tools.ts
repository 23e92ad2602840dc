/** Tools that agents and SDKs declare and run themselves, and bodies without any tool: all of them are forwarded. */
const schema = {
  type: 'object',
  properties: {
    model: { type: 'string', enum: ['vendor/other-model'] },
    tools: { type: 'array', items: { type: 'object', properties: { type: { const: 'image_generation' } } } },
    type: { type: 'string', default: 'image_generation' },
    image_generation: { type: 'object' },
    models: { type: 'array', items: { type: 'string' }, default: ['vendor/other-model'] },
  },
  required: ['model', 'tools'],
  $defs: { tools: { type: 'image_generation', model: 'vendor/other-model' } },
  examples: [{ model: 'vendor/other-model', tools: [{ type: 'image_generation' }] }],
  additionalProperties: false,
}
const named = { name: 'generate_image', description: 'Draws an image_generation.' }
const nested = { tools: [{ type: 'image_generation', model: 'vendor/other-model' }] }

export const clientBodies: { readonly [name: string]: readonly object[] } = {
  chat: [
    { tools: [{ type: 'function', function: { ...named, parameters: schema, strict: true } }] },
    { tools: [{ function: { ...named, parameters: { ...schema, ...nested } }, type: 'function' }] },
    { tools: [{ function: { ...named, parameters: schema } }] },
    { tools: [{ type: 'custom', custom: { ...named, format: { type: 'grammar', grammar: { syntax: 'lark' } } } }] },
    {
      tools: [{ type: 'function', function: named }],
      tool_choice: { type: 'function', function: { name: 'generate_image' } },
    },
    { tool_choice: 'auto' },
    { tool_choice: 'required', parallel_tool_calls: false },
    {
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'generate_image' } }] },
      },
    },
    { tools: [] },
    { tools: null, tool_choice: null, plugins: [], web_search_options: null, mcp_servers: [] },
    { functions: [{ ...named, parameters: schema }], function_call: { name: 'generate_image' } },
    { response_format: { type: 'json_schema', json_schema: { name: 'image_generation', schema } } },
    { metadata: { model: 'vendor/other-model', tools: 'image_generation' } },
    {
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'function', function: { ...named, arguments: JSON.stringify(nested) } }],
        },
        { role: 'tool', tool_call_id: 'c', content: JSON.stringify(nested) },
        { role: 'user', content: [{ type: 'text', text: '{"tools":[{"type":"image_generation"}]}' }] },
      ],
    },
  ],
  responses: [
    { tools: [{ type: 'function', ...named, strict: true, parameters: schema }] },
    { tools: [{ ...named, parameters: { ...schema, ...nested }, type: 'function' }] },
    { tools: [{ type: 'local_shell' }] },
    { tools: [{ type: 'shell' }] },
    { tools: [{ type: 'shell', environment: { type: 'local' } }] },
    { tools: [{ type: 'apply_patch' }] },
    { tools: [{ type: 'custom', ...named, format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } }] },
    { tools: [{ type: 'computer_use_preview', display_width: 800, display_height: 600, environment: 'browser' }] },
    { tools: [{ type: 'computer' }] },
    { tools: [{ type: 'namespace', ...named, tools: [{ type: 'function', ...named, parameters: schema }] }] },
    {
      tools: [
        { type: 'web_search', external_web_access: false },
        { type: 'tool_search', execution: 'client' },
      ],
    },
    { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'generate_image' }] } },
    { text: { format: { type: 'json_schema', name: 'x', schema } } },
    {
      input: [
        { type: 'tool_search_output', call_id: 'x', tools: [{ type: 'function', ...named, parameters: schema }] },
        { type: 'mcp_list_tools', server_label: 's', tools: [{ ...named, input_schema: schema, annotations: {} }] },
        { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGVsbG8=' },
        { type: 'function_call', call_id: 'y', name: 'generate_image', arguments: JSON.stringify(nested) },
        { type: 'function_call_output', call_id: 'y', output: [nested] },
        { type: 'file_search_call', results: [{ attributes: { model: 'vendor/other-model' } }] },
      ],
    },
    { prompt: { id: 'pmpt_1', variables: { model: 'vendor/other-model' } } },
  ],
  messages: [
    { tools: [{ ...named, input_schema: schema }] },
    { tools: [{ input_schema: { ...schema, ...nested }, ...named, cache_control: { type: 'ephemeral' } }] },
    { tools: [{ type: 'custom', ...named, input_schema: schema }] },
    { tools: [{ type: 'custom', ...named, input_schema: schema, input_examples: [nested] }] },
    { tools: [{ type: 'bash_20250124', name: 'bash' }] },
    { tools: [{ type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 9 }] },
    { tools: [{ type: 'computer_20250124', name: 'computer', display_width_px: 9, display_height_px: 9 }] },
    { tools: [{ type: 'memory_20250818', name: 'memory' }] },
    { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }] },
    { tools: [{ type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }] },
    { tools: [{ ...named, input_schema: schema }], tool_choice: { type: 'tool', name: 'generate_image' } },
    { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    { tool_choice: { type: 'any' } },
    {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'generate_image', input: nested }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't',
              content: [{ type: 'tool_reference', tool_name: 'generate_image' }],
            },
          ],
        },
      ],
    },
    { metadata: { user_id: 'u' }, thinking: { type: 'enabled', budget_tokens: 1024 } },
  ],
  generate: [
    { tools: [{ functionDeclarations: [{ ...named, parameters: schema, response: schema }] }] },
    { tools: [{ function_declarations: [{ ...named, parametersJsonSchema: { ...schema, ...nested } }] }] },
    { tools: [{ functionDeclarations: [named] }, { googleSearch: {} }, { urlContext: {} }] },
    { tools: [{ computerUse: { environment: 'ENVIRONMENT_BROWSER' } }] },
    { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['generate_image'] } } },
    { generationConfig: { responseSchema: schema, responseJsonSchema: { ...schema, ...nested } } },
    {
      contents: [
        { role: 'user', parts: [{ text: 'hi' }] },
        { role: 'model', parts: [{ functionCall: { name: 'generate_image', args: nested } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'generate_image', response: nested } }] },
      ],
    },
    { labels: { model: 'vendor/other-model' } },
  ],
}

/**
 * Tools that make images, in spellings and positions that an upstream may accept; each is refused if no image is paid
 * for.
 */
export const imageTools: readonly string[] = [
  '{"tools":[{"type":"image_generation"}]}',
  '{"tools":[{"type":"openrouter:image_generation"}]}',
  '{"tools":[{"type":"Image_Generation"}]}',
  '{"tools":[{"type":"IMAGE_GENERATION"}]}',
  '{"tools":[{"type":"image_generation "}]}',
  '{"tools":[{"type":" image_generation"}]}',
  '{"tools":[{"type":"image_generation\\u0000"}]}',
  '{"tools":[{"type":"image_generation\\n"}]}',
  '{"tools":[{"type":"image\\u200b_generation"}]}',
  '{"tools":[{"type":"\\ufeffimage_generation"}]}',
  '{"tools":[{"type":"\\uff49mage_generation"}]}',
  '{"tools":[{"type":"imageGeneration"}]}',
  '{"tools":[{"type":"image-generation"}]}',
  '{"tools":[{"\\u0074ype":"image_generation"}]}',
  '{"tools":[{"Type":"image_generation"}]}',
  '{"tools":[{"type ":"image_generation"}]}',
  '{"tools":[{"type":["image_generation"]}]}',
  '{"tools":[{"type":{"type":"image_generation"}}]}',
  '{"tools":[{"type":"function","type":"image_generation","name":"x"}]}',
  '{"tools":[{"type":"image_generation","type":"function","name":"x"}]}',
  '{"tools":[{"type":"function","Type":"image_generation","name":"x"}]}',
  '{"tools":{"type":"image_generation"}}',
  '{"tools":{"a":{"type":"image_generation"}}}',
  '{"tools":[[{"type":"image_generation"}]]}',
  '{"tools":["image_generation"]}',
  '{"tools":"image_generation"}',
  '{"tools":[{"image_generation":{}}]}',
  '{"tools":[{"imageGeneration":{}}]}',
  '{"Tools":[{"type":"image_generation"}]}',
  '{"tools ":[{"type":"image_generation"}]}',
  '{"\\u0074ools":[{"type":"image_generation"}]}',
  '{"tool\\u017f":[{"type":"image_generation"}]}',
  '{"x":{"tools":[],"tools":[{"type":"image_generation"}]}}',
  '{"x":{"tools":[{"type":"image_generation"}],"tools":[]}}',
  '{"tool_choice":{"type":"image_generation"}}',
  '{"tool_choice":"image_generation"}',
  '{"toolChoice":{"type":"image_generation"}}',
  '{"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"image_generation"}]}}',
  '{"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[{"type":"image_generation"}]}}}',
  '{"input":[{"type":"tool_search_output","call_id":"x","tools":[{"type":"image_generation"}]}]}',
  '{"input":[{"type":"additional_tools","additional_tools":[{"type":"image_generation"}]}]}',
  '{"messages":[{"role":"user","content":[{"type":"x","tools":[{"type":"image_generation"}]}]}]}',
  '{"extra_body":{"tools":[{"type":"image_generation"}]}}',
  '{"builtin_tools":[{"type":"image_generation"}]}',
  '{"tools":[{"type":"namespace","name":"n","tools":[{"type":"image_generation"}]}]}',
  '{"tools":[{"name":"n","tools":[{"type":"image_generation"}],"type":"namespace"}]}',
  '{"tools":[{"type":"openrouter:subagent","parameters":{"tools":[{"type":"openrouter:image_generation"}]}}]}',
  '{"tools":[{"parameters":{"tools":[{"type":"openrouter:image_generation"}]},"name":"x","type":"openrouter:subagent"}]}',
  '{"tools":[{"parameters":{"a":[{"tools":{"type":"image_generation"}}]},"type":"openrouter:subagent"}]}',
  '{"tools":[{"type":"x","parameters":{"tool_choice":{"type":"image_generation"}}}]}',
  '{"plugins":[{"id":"image_generation"}]}',
]

/** Other tools that an upstream runs and that no shipped family names, with the tool's name in the refusal. */
export const vendorTools: readonly (readonly [body: object, tool: string, place: string])[] = [
  [{ tools: [{ type: 'openrouter:subagent', parameters: {} }] }, 'openrouter:subagent', 'tools[0].type'],
  [{ tools: [{ type: 'function', name: 'f' }, { type: 'code_interpreter' }] }, 'code_interpreter', 'tools[1].type'],
  [{ tools: [{ type: 'Web_Search' }] }, 'Web_Search', 'tools[0].type'],
  [{ tools: [{ type: 'function ' }] }, 'function ', 'tools[0].type'],
  [{ tools: [{ type: 'mcp', server_url: 'https://other.example' }] }, 'mcp', 'tools[0].type'],
  [{ tools: [{ type: 'builtin_function', function: { name: '$x' } }] }, 'builtin_function', 'tools[0].type'],
  [
    { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
    'container_auto',
    'tools[0].environment.type',
  ],
  [{ tools: [{ codeExecution: {} }] }, 'codeExecution', 'tools[0].codeExecution'],
  [{ tools: [{ functionDeclarations: [], googleMaps: {} }] }, 'googleMaps', 'tools[0].googleMaps'],
  [{ tools: [{ type: 7 }] }, '', 'tools[0].type'],
  [{ tools: ['code_interpreter'] }, 'code_interpreter', 'tools[0]'],
  [{ compound_custom: { tools: { enabled_tools: ['x'] } } }, 'enabled_tools', 'compound_custom.tools.enabled_tools'],
  [{ plugins: [{ id: 'web' }] }, 'web', 'plugins[0].id'],
  [{ mcp_servers: [{ type: 'url', url: 'https://other.example' }] }, 'mcp_servers', 'mcp_servers'],
  [{ search_parameters: { mode: 'on' } }, 'search_parameters', 'search_parameters'],
  [{ tool_choice: { type: 'file_search' } }, 'file_search', 'tool_choice.type'],
]
