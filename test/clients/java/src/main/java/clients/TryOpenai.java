package clients;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.MultipartField;
import com.openai.core.http.HttpResponse;
import com.openai.core.http.StreamResponse;
import com.openai.errors.BadRequestException;
import com.openai.errors.NotFoundException;
import com.openai.errors.OpenAIException;
import com.openai.errors.OpenAIServiceException;
import com.openai.errors.RateLimitException;
import com.openai.errors.UnauthorizedException;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.ResponseFormatJsonObject;
import com.openai.models.audio.AudioResponseFormat;
import com.openai.models.audio.speech.SpeechCreateParams;
import com.openai.models.audio.transcriptions.TranscriptionCreateParams;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.images.Image;
import com.openai.models.images.ImageEditParams;
import com.openai.models.images.ImageEditStreamEvent;
import com.openai.models.images.ImageGenStreamEvent;
import com.openai.models.images.ImageGenerateParams;
import com.openai.models.images.ImagesResponse;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseStreamEvent;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/** openai-java through the gateway. Its validate() compares an answer with the required fields of its types. */
public final class TryOpenai {
    interface Run {
        void run() throws Exception;
    }

    public static final class Recipe {
        @JsonProperty(required = true)
        public String name;

        @JsonProperty(required = true)
        public int minutes;

        @JsonProperty(required = true)
        public List<String> steps;
    }

    private static final String PROMPT = "a red boat";
    private static final String SAID = "simulated answer to: a red boat";
    private static final JsonMapper JSON = new JsonMapper();
    private static final List<String> FAMILIES = List.of("alpha-image-2", "beta-imagine-image");

    private TryOpenai() {}

    private static String env(String name) {
        return Objects.requireNonNull(System.getenv(name), name + " is not set: npm run test:clients sets it");
    }

    private static OpenAIClient connect(String key) {
        return OpenAIOkHttpClient.builder()
                .baseUrl(env("GATEWAY_URL") + "/v1")
                .apiKey(key)
                .maxRetries(0)
                .responseValidation(true)
                .build();
    }

    private static void call(String name, Run run) throws Exception {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("client", "openai-java");
        line.put("version", OpenAIClient.class.getPackage().getImplementationVersion());
        line.put("call", name);
        line.put("ok", true);
        try {
            run.run();
        } catch (Throwable error) {
            line.put("ok", false);
            String text = error + (error.getCause() == null ? "" : " (" + error.getCause() + ")");
            line.put("error", text.substring(0, Math.min(2000, text.length())));
        }
        System.out.println(JSON.writeValueAsString(line));
    }

    private static void same(Object found, Object wanted) {
        if (!Objects.equals(found, wanted)) throw new AssertionError("expected " + wanted + " but got " + found);
    }

    private static ChatCompletionCreateParams.Builder say(String text) {
        return ChatCompletionCreateParams.builder().model("sim-chat").addUserMessage(text);
    }

    public static void main(String[] args) throws Exception {
        OpenAIClient client = connect(env("GATEWAY_KEY"));
        callChat(client);
        callResponses(client);
        callImages(client);
        callRest(client);
        callErrors();
        // Threads of its HTTP client outlive the calls.
        System.exit(0);
    }

    private static void callChat(OpenAIClient client) throws Exception {
        call("chat", () -> {
            ChatCompletion answer = client.chat().completions().create(say(PROMPT).build());
            same(answer.choices().get(0).message().content().orElse(null), SAID);
            same(answer.usage().get().totalTokens(), 9L);
        });
        for (boolean usage : new boolean[] {false, true}) {
            call("chat, streamed, usage asked for: " + usage, () -> {
                ChatCompletionCreateParams.Builder order = say(PROMPT);
                if (usage) order.streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build());
                ChatCompletionAccumulator all = ChatCompletionAccumulator.create();
                try (StreamResponse<ChatCompletionChunk> stream =
                        client.chat().completions().createStreaming(order.build())) {
                    stream.stream().forEach(all::accumulate);
                }
                ChatCompletion answer = all.chatCompletion();
                same(answer.choices().get(0).message().content().orElse(null), SAID);
                same(answer.usage().isPresent(), usage);
            });
        }
        call("chat with a tool", () -> {
            FunctionParameters schema = FunctionParameters.builder()
                    .putAdditionalProperty("type", JsonValue.from("object"))
                    .putAdditionalProperty("properties", JsonValue.from(Map.of("city", Map.of("type", "string"))))
                    .putAdditionalProperty("required", JsonValue.from(List.of("city")))
                    .build();
            FunctionDefinition tool =
                    FunctionDefinition.builder().name("look_up").parameters(schema).build();
            ChatCompletion answer = client.chat()
                    .completions()
                    .create(say("look_up Rome").addFunctionTool(tool).build());
            same(
                    answer.choices().get(0).message().toolCalls().get().get(0).asFunction().function().name(),
                    "look_up");
        });
        call("chat, response_format of a class", () -> {
            Recipe found = client.chat()
                    .completions()
                    .create(say(PROMPT).responseFormat(Recipe.class).build())
                    .choices()
                    .get(0)
                    .message()
                    .content()
                    .get();
            same(found.name, PROMPT);
        });
        call("chat, response_format json_object", () -> {
            ChatCompletion answer = client.chat()
                    .completions()
                    .create(say(PROMPT)
                            .responseFormat(ResponseFormatJsonObject.builder().build())
                            .build());
            JSON.readTree(answer.choices().get(0).message().content().get());
        });
    }

    private static void callResponses(OpenAIClient client) throws Exception {
        call("responses", () -> {
            Response answer = client.responses().create(respond().build());
            same(answer.output().get(0).asMessage().content().get(0).asOutputText().text(), SAID);
        });
        call("responses, streamed", () -> {
            try (StreamResponse<ResponseStreamEvent> stream =
                    client.responses().createStreaming(respond().build())) {
                same(stream.stream().reduce((before, after) -> after).get().isCompleted(), true);
            }
        });
        call("responses, text of a class", () -> {
            Recipe found = client.responses()
                    .create(respond().text(Recipe.class).build())
                    .output()
                    .get(0)
                    .asMessage()
                    .content()
                    .get(0)
                    .asOutputText();
            same(found.name, PROMPT);
        });
    }

    private static ResponseCreateParams.Builder respond() {
        return ResponseCreateParams.builder().model("sim-chat").input(PROMPT);
    }

    private static void areImages(ImagesResponse answer, int count) {
        List<Image> images = answer.data().get();
        same(images.size(), count);
        for (Image image : images) {
            boolean isLink = image.url().filter(url -> url.startsWith("http") || url.startsWith("data:")).isPresent();
            same(isLink || image.b64Json().filter(text -> text.length() > 1000).isPresent(), true);
        }
    }

    private static void callImages(OpenAIClient client) throws Exception {
        Path picture = Path.of(env("GATEWAY_PICTURE"));
        Path mask = Path.of(env("GATEWAY_MASK"));
        for (String model : FAMILIES) {
            for (String format : new String[] {"", "url", "b64_json"}) {
                call("images, " + model + ", response_format \"" + format + "\"", () -> {
                    ImageGenerateParams.Builder order = ImageGenerateParams.builder()
                            .model(model)
                            .prompt(PROMPT)
                            .n(2)
                            .size(ImageGenerateParams.Size._1024X1024);
                    if (!format.isEmpty()) order.responseFormat(ImageGenerateParams.ResponseFormat.of(format));
                    areImages(client.images().generate(order.build()), 2);
                });
            }
            call("images, " + model + ", every field", () -> {
                ImageGenerateParams order = ImageGenerateParams.builder()
                        .model(model)
                        .prompt(PROMPT)
                        .size("1536x1024")
                        .quality(ImageGenerateParams.Quality.HIGH)
                        .background(ImageGenerateParams.Background.OPAQUE)
                        .moderation(ImageGenerateParams.Moderation.LOW)
                        .outputFormat(ImageGenerateParams.OutputFormat.WEBP)
                        .outputCompression(80)
                        .style(ImageGenerateParams.Style.VIVID)
                        .user("user-1")
                        .build();
                areImages(client.images().generate(order), 1);
            });
            call("image edit, " + model + ", a path", () -> {
                areImages(client.images().edit(edit(model).image(picture).build()), 1);
            });
            // Its parts are `application/octet-stream`, and have no filename.
            call("image edit, " + model + ", bytes", () -> {
                areImages(client.images().edit(edit(model).image(Files.readAllBytes(picture)).build()), 1);
            });
            call("image edit, " + model + ", a stream with a name and a type, and a mask", () -> {
                try (InputStream in = Files.newInputStream(picture)) {
                    MultipartField<ImageEditParams.Image> image = MultipartField.<ImageEditParams.Image>builder()
                            .value(ImageEditParams.Image.ofInputStream(in))
                            .filename("picture.png")
                            .contentType("image/png")
                            .build();
                    areImages(client.images().edit(edit(model).image(image).mask(mask).n(1).build()), 1);
                }
            });
            call("image edit, " + model + ", two streams", () -> {
                try (InputStream one = Files.newInputStream(picture);
                        InputStream two = Files.newInputStream(picture)) {
                    areImages(client.images().edit(edit(model).imageOfInputStreams(List.of(one, two)).build()), 1);
                }
            });
        }
        call("images, alpha-image-2, streamed", () -> {
            ImageGenerateParams order = ImageGenerateParams.builder()
                    .model("alpha-image-2")
                    .prompt(PROMPT)
                    .partialImages(1)
                    .build();
            try (StreamResponse<ImageGenStreamEvent> stream = client.images().generateStreaming(order)) {
                List<ImageGenStreamEvent> events = stream.stream().toList();
                same(events.size(), 2);
                events.get(1).asGenerationCompleted().validate();
            }
        });
        call("image edit, alpha-image-2, streamed", () -> {
            ImageEditParams order = edit("alpha-image-2").image(picture).build();
            try (StreamResponse<ImageEditStreamEvent> stream = client.images().editStreaming(order)) {
                List<ImageEditStreamEvent> events = stream.stream().toList();
                events.get(events.size() - 1).asCompleted().validate();
            }
        });
    }

    private static ImageEditParams.Builder edit(String model) {
        return ImageEditParams.builder().model(model).prompt(PROMPT);
    }

    private static void callRest(OpenAIClient client) throws Exception {
        call("embeddings", () -> {
            EmbeddingCreateParams order = EmbeddingCreateParams.builder()
                    .model("sim-embedding")
                    .inputOfArrayOfStrings(List.of(PROMPT, "winter"))
                    .dimensions(40)
                    .build();
            same(client.embeddings().create(order).data().get(1).embedding().size(), 40);
        });
        call("speech", () -> {
            SpeechCreateParams order = SpeechCreateParams.builder()
                    .model("sim-speech")
                    .input(PROMPT)
                    .voice("alloy")
                    .responseFormat(SpeechCreateParams.ResponseFormat.WAV)
                    .build();
            try (HttpResponse answer = client.audio().speech().create(order)) {
                same(new String(answer.body().readNBytes(4)), "RIFF");
            }
        });
        Path sound = Path.of(env("GATEWAY_SOUND"));
        call("transcription", () -> {
            TranscriptionCreateParams order = transcribe().file(sound).build();
            same(startsRight(client.audio().transcriptions().create(order).asTranscription().text()), true);
        });
        call("transcription of bytes", () -> {
            TranscriptionCreateParams order = transcribe().file(Files.readAllBytes(sound)).build();
            same(startsRight(client.audio().transcriptions().create(order).asTranscription().text()), true);
        });
        call("transcription, verbose_json", () -> {
            TranscriptionCreateParams order = transcribe()
                    .file(sound)
                    .responseFormat(AudioResponseFormat.VERBOSE_JSON)
                    .build();
            same(startsRight(client.audio().transcriptions().create(order).asVerbose().text()), true);
        });
        call("models, list", () -> same(client.models().list().data().size() > 5, true));
        call("models, get", () -> same(client.models().retrieve("sim-chat").id(), "sim-chat"));
    }

    private static boolean startsRight(String text) {
        return text.startsWith("simulated transcript");
    }

    private static TranscriptionCreateParams.Builder transcribe() {
        return TranscriptionCreateParams.builder().model("sim-transcription");
    }

    private static void callErrors() throws Exception {
        String key = env("GATEWAY_KEY");
        refused("401", "sk-none", say(PROMPT), UnauthorizedException.class, "invalid_api_key");
        refused("404 of a model", key, say(PROMPT).model("none"), NotFoundException.class, "model_not_found");
        refused("400 with a param", key, say(PROMPT).messages(List.of()), BadRequestException.class, "invalid_value");
        refused(
                "429 with Retry-After",
                env("GATEWAY_SPENT_KEY"),
                say(PROMPT),
                RateLimitException.class,
                "rate_limit_exceeded");
        call("a stream that goes wrong", () -> {
            try (StreamResponse<ChatCompletionChunk> stream = connect(key)
                            .chat()
                            .completions()
                            .createStreaming(say("a boat [[error-event]]").build());
                    Stream<ChatCompletionChunk> chunks = stream.stream()) {
                chunks.forEach(chunk -> {});
            } catch (OpenAIException expected) {
                return;
            }
            throw new AssertionError("nothing was thrown");
        });
    }

    private static void refused(
            String name,
            String key,
            ChatCompletionCreateParams.Builder order,
            Class<? extends OpenAIServiceException> kind,
            String code)
            throws Exception {
        call(name, () -> {
            try {
                connect(key).chat().completions().create(order.build());
            } catch (OpenAIServiceException error) {
                same(error.getClass(), kind);
                same(error.code().orElse(null), code);
                if (error.statusCode() == 429) same(error.headers().values("retry-after").isEmpty(), false);
                return;
            }
            throw new AssertionError("nothing was thrown");
        });
    }
}
