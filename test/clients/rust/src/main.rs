//! async-openai through the gateway. serde parses its types: a missing member, or an unknown enum value, is
//! an error.

use std::error::Error;
use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::audio::{
    AudioInput, AudioResponseFormat, CreateSpeechRequest, CreateTranscriptionRequestArgs,
};
use async_openai::types::chat::{ChatCompletionMessageToolCalls, CreateChatCompletionRequest};
use async_openai::types::embeddings::{CreateEmbeddingRequest, EncodingFormat};
use async_openai::types::images::{
    CreateImageEditRequestArgs, CreateImageRequest, Image, ImageEditInput, ImageInput, ImageModel,
    ImageSize, ImagesResponse,
};
use async_openai::types::responses::{CreateResponse, ResponseStreamEvent};
use async_openai::Client;
use futures::StreamExt;
use serde_json::{from_str, from_value, json, Value};

type Outcome = Result<(), Box<dyn Error>>;

const PROMPT: &str = "a red boat";
const SAID: &str = "simulated answer to: a red boat";

fn env(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: npm run test:clients sets it"))
}

fn connect(key: &str) -> Client<OpenAIConfig> {
    let base = format!("{}/v1", env("GATEWAY_URL"));
    Client::with_config(OpenAIConfig::new().with_api_base(base).with_api_key(key))
}

/// The version in the lock file.
fn version() -> String {
    let lock = include_str!("../Cargo.lock");
    let (_, rest) = lock
        .split_once("name = \"async-openai\"\nversion = \"")
        .expect("async-openai is locked");
    rest.split('"').next().unwrap_or_default().to_string()
}

async fn call(name: &str, run: impl Future<Output = Outcome>) {
    let line = match run.await {
        Ok(()) => json!({"client": "async-openai", "version": version(), "call": name, "ok": true}),
        Err(error) => {
            let error: String = error.to_string().chars().take(2000).collect();
            json!({"client": "async-openai", "version": version(), "call": name, "ok": false, "error": error})
        }
    };
    println!("{line}");
}

fn same<T: PartialEq + Debug>(found: T, wanted: T) -> Outcome {
    if found == wanted {
        return Ok(());
    }
    Err(format!("expected {wanted:?} but got {found:?}").into())
}

fn say(text: &str, more: Value) -> CreateChatCompletionRequest {
    let mut order = json!({"model": "sim-chat", "messages": [{"role": "user", "content": text}]});
    for (name, value) in more.as_object().into_iter().flatten() {
        order[name] = value.clone();
    }
    from_value(order).expect("an order")
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["soup", "cake"]},
            "part": {"$ref": "#/$defs/part"},
        },
        "required": ["kind", "part"],
        "additionalProperties": false,
        "$defs": {"part": {
            "type": "object",
            "properties": {"minutes": {"type": "integer", "minimum": 5}},
            "required": ["minutes"],
        }},
    })
}

fn is_recipe(text: &str) -> Outcome {
    same(
        from_str::<Value>(text)?,
        json!({"kind": "soup", "part": {"minutes": 5}}),
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let client = connect(&env("GATEWAY_KEY"));
    call_chat(&client).await;
    call_responses(&client).await;
    call_images(&client).await;
    call_rest(&client).await;
    call_errors().await;
}

async fn call_chat(client: &Client<OpenAIConfig>) {
    call("chat", async {
        let answer = client.chat().create(say(PROMPT, json!({}))).await?;
        same(answer.choices[0].message.content.as_deref(), Some(SAID))?;
        same(answer.usage.map(|usage| usage.total_tokens), Some(9))
    })
    .await;
    for usage in [false, true] {
        call(
            &format!("chat, streamed, usage asked for: {usage}"),
            async {
                let more = if usage {
                    json!({"stream_options": {"include_usage": true}})
                } else {
                    json!({})
                };
                let mut stream = client.chat().create_stream(say(PROMPT, more)).await?;
                let (mut text, mut tokens) = (String::new(), None);
                while let Some(chunk) = stream.next().await {
                    let chunk = chunk?;
                    text.extend(
                        chunk
                            .choices
                            .into_iter()
                            .filter_map(|choice| choice.delta.content),
                    );
                    tokens = chunk.usage.map(|usage| usage.total_tokens);
                }
                same(text.as_str(), SAID)?;
                same(tokens, usage.then_some(9))
            },
        )
        .await;
    }
    call("chat with a tool", async {
        let tools = json!({"tools": [{"type": "function", "function": {"name": "look_up", "parameters": schema()}}]});
        let answer = client.chat().create(say("look_up Rome", tools)).await?;
        match answer.choices[0].message.tool_calls.iter().flatten().next() {
            Some(ChatCompletionMessageToolCalls::Function(found)) => is_recipe(&found.function.arguments),
            other => Err(format!("no tool was called: {other:?}").into()),
        }
    })
    .await;
    call("chat, response_format json_schema", async {
        let format = json!({"response_format": {
            "type": "json_schema",
            "json_schema": {"name": "recipe", "schema": schema(), "strict": true},
        }});
        let answer = client.chat().create(say(PROMPT, format)).await?;
        is_recipe(
            answer.choices[0]
                .message
                .content
                .as_deref()
                .unwrap_or_default(),
        )
    })
    .await;
    call("chat, response_format json_object", async {
        let format = json!({"response_format": {"type": "json_object"}});
        let answer = client.chat().create(say(PROMPT, format)).await?;
        from_str::<Value>(
            answer.choices[0]
                .message
                .content
                .as_deref()
                .unwrap_or_default(),
        )?;
        Ok(())
    })
    .await;
}

async fn call_responses(client: &Client<OpenAIConfig>) {
    let order = |more: Value| -> CreateResponse {
        let mut order = json!({"model": "sim-chat", "input": PROMPT});
        for (name, value) in more.as_object().into_iter().flatten() {
            order[name] = value.clone();
        }
        from_value(order).expect("an order")
    };
    call("responses", async {
        let answer = client.responses().create(order(json!({}))).await?;
        same(answer.output_text().as_deref(), Some(SAID))
    })
    .await;
    call("responses, text.format json_schema", async {
        let format = json!({"text": {"format": {"type": "json_schema", "name": "recipe", "schema": schema()}}});
        let answer = client.responses().create(order(format)).await?;
        is_recipe(&answer.output_text().unwrap_or_default())
    })
    .await;
    call("responses, streamed", async {
        let mut stream = client.responses().create_stream(order(json!({}))).await?;
        let mut completed = false;
        while let Some(event) = stream.next().await {
            completed = matches!(event?, ResponseStreamEvent::ResponseCompleted(_));
        }
        same(completed, true)
    })
    .await;
}

fn are_images(answer: ImagesResponse, count: usize) -> Outcome {
    same(answer.data.len(), count)?;
    for image in &answer.data {
        let whole = match image.as_ref() {
            Image::Url { url, .. } => url.starts_with("http") || url.starts_with("data:"),
            Image::B64Json { b64_json, .. } => b64_json.len() > 1000,
        };
        same(whole, true)?;
    }
    Ok(())
}

async fn call_images(client: &Client<OpenAIConfig>) {
    for model in ["alpha-image-2", "beta-imagine-image"] {
        for more in [
            json!({}),
            json!({"response_format": "url"}),
            json!({"response_format": "b64_json"}),
            json!({"quality": "high", "background": "opaque", "moderation": "low", "output_format": "webp",
                "output_compression": 80, "user": "user-1", "style": "vivid"}),
        ] {
            call(&format!("images, {model}, {more}"), async {
                let mut order =
                    json!({"model": model, "prompt": PROMPT, "n": 2, "size": "1024x1024"});
                for (name, value) in more.as_object().into_iter().flatten() {
                    order[name] = value.clone();
                }
                let order: CreateImageRequest = from_value(order)?;
                are_images(client.images().generate(order).await?, 2)
            })
            .await;
        }
        let edit = |image: ImageEditInput, masked: bool| async move {
            let mut order = CreateImageEditRequestArgs::default();
            order
                .model(ImageModel::Other(model.into()))
                .prompt(PROMPT)
                .image(image);
            if masked {
                order
                    .mask(ImageInput::from(env("GATEWAY_MASK")))
                    .n(1_u8)
                    .size(ImageSize::S1024x1024);
            }
            are_images(client.images().edit(order.build()?).await?, 1)
        };
        let path = || ImageInput::from(env("GATEWAY_PICTURE"));
        call(
            &format!("image edit, {model}, a file"),
            edit(path().into(), false),
        )
        .await;
        call(
            &format!("image edit, {model}, two files and a mask"),
            edit(vec![path(), path()].into(), true),
        )
        .await;
        call(&format!("image edit, {model}, bytes with a name"), async {
            let bytes = std::fs::read(env("GATEWAY_PICTURE"))?;
            edit(
                ImageInput::from_vec_u8("picture.png".into(), bytes).into(),
                false,
            )
            .await
        })
        .await;
    }
    call("images, alpha-image-2, streamed", async {
        let order = json!({"model": "alpha-image-2", "prompt": PROMPT, "partial_images": 1});
        let mut stream = client.images().generate_stream(from_value(order)?).await?;
        let mut count = 0;
        while let Some(event) = stream.next().await {
            event?;
            count += 1;
        }
        same(count, 2)
    })
    .await;
}

async fn call_rest(client: &Client<OpenAIConfig>) {
    let order = || -> CreateEmbeddingRequest {
        from_value(json!({"model": "sim-embedding", "input": [PROMPT, "winter"], "dimensions": 40}))
            .expect("an order")
    };
    call("embeddings", async {
        same(
            client.embeddings().create(order()).await?.data[1]
                .embedding
                .len(),
            40,
        )
    })
    .await;
    call("embeddings as base64", async {
        let mut order = order();
        order.encoding_format = Some(EncodingFormat::Base64);
        same(client.embeddings().create_base64(order).await?.data.len(), 2)
    })
    .await;
    call("speech", async {
        let order = json!({"model": "sim-speech", "input": PROMPT, "voice": "alloy", "response_format": "wav"});
        let order: CreateSpeechRequest = from_value(order)?;
        let sound = client.audio().speech().create(order).await?;
        same(&sound.bytes[..4], b"RIFF".as_slice())
    })
    .await;
    let listen = || {
        let mut order = CreateTranscriptionRequestArgs::default();
        order
            .model("sim-transcription")
            .file(AudioInput::from(env("GATEWAY_SOUND")));
        order
    };
    call("transcription", async {
        let answer = client
            .audio()
            .transcription()
            .create(listen().build()?)
            .await?;
        same(answer.text.starts_with("simulated transcript"), true)
    })
    .await;
    call("transcription, verbose_json", async {
        let order = listen()
            .response_format(AudioResponseFormat::VerboseJson)
            .build()?;
        let answer = client
            .audio()
            .transcription()
            .create_verbose_json(order)
            .await?;
        same(answer.text.starts_with("simulated transcript"), true)
    })
    .await;
    call("transcription, streamed", async {
        let order = listen().stream(true).build()?;
        let mut stream = client.audio().transcription().create_stream(order).await?;
        let mut count = 0;
        while let Some(event) = stream.next().await {
            event?;
            count += 1;
        }
        same(count > 1, true)
    })
    .await;
    call("models, list", async {
        same(client.models().list().await?.data.len() > 5, true)
    })
    .await;
    call("models, get", async {
        same(
            client.models().retrieve("sim-chat").await?.id.as_str(),
            "sim-chat",
        )
    })
    .await;
}

async fn call_errors() {
    let key = env("GATEWAY_KEY");
    for (name, key, order, status, code) in [
        (
            "401",
            "sk-none",
            say(PROMPT, json!({})),
            401,
            "invalid_api_key",
        ),
        (
            "404 of a model",
            &key,
            say(PROMPT, json!({"model": "none"})),
            404,
            "model_not_found",
        ),
        (
            "400 with a param",
            &key,
            say(PROMPT, json!({"messages": []})),
            400,
            "invalid_value",
        ),
    ] {
        call(name, async {
            match connect(key).chat().create(order).await {
                Err(OpenAIError::ApiError(error)) => {
                    same(error.status_code.as_u16(), status)?;
                    same(error.api_error.code.as_deref(), Some(code))
                }
                other => Err(format!("not an ApiError: {other:?}").into()),
            }
        })
        .await;
    }
    // It retries three times after a 429, each time after the delay in Retry-After.
    call("429 with Retry-After", async {
        let began = Instant::now();
        match connect(&key)
            .chat()
            .create(say("a boat [[status 429 1]]", json!({})))
            .await
        {
            Err(OpenAIError::ApiError(error)) => {
                same(error.status_code.as_u16(), 429)?;
                same(began.elapsed() >= Duration::from_secs(3), true)
            }
            other => Err(format!("not an ApiError: {other:?}").into()),
        }
    })
    .await;
    call("a stream that goes wrong", async {
        let mut stream = connect(&key)
            .chat()
            .create_stream(say("a boat [[error-event]]", json!({})))
            .await?;
        while let Some(chunk) = stream.next().await {
            if chunk.is_err() {
                return Ok(());
            }
        }
        Err("nothing went wrong".into())
    })
    .await;
}
