// github.com/openai/openai-go through the gateway. Answers must have the fields that its types mark as required.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"clients/kit"
)

var ctx = context.Background()

func connect(key string) openai.Client {
	return openai.NewClient(option.WithBaseURL(kit.URL+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(0))
}

func say(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "sim-chat",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
	}
}

// whole returns an error when a field that the SDK's type marks as required was not in the answer.
func whole(value any) error {
	return wholeOf(reflect.ValueOf(value), reflect.TypeOf(value).String())
}

func wholeOf(value reflect.Value, path string) error {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return wholeOf(value.Elem(), path)
	case reflect.Slice:
		for i := range value.Len() {
			if err := wholeOf(value.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return wholeStruct(value, path)
	}
	return nil
}

func wholeStruct(value reflect.Value, path string) error {
	met := value.FieldByName("JSON")
	if !met.IsValid() || strings.HasSuffix(value.Type().Name(), "Union") {
		return nil
	}
	for i := range value.NumField() {
		field := value.Type().Field(i)
		found := met.FieldByName(field.Name)
		if field.Name == "JSON" || !found.IsValid() {
			continue
		}
		raw := found.MethodByName("Raw").Call(nil)[0].String()
		if raw == "" && field.Tag.Get("api") == "required" {
			return fmt.Errorf("%s.%s is required and was not sent", path, field.Name)
		}
		if raw == "" || raw == "null" {
			continue
		}
		if valid := found.MethodByName("Valid").Call(nil)[0].Bool(); !valid {
			return fmt.Errorf("%s.%s is not of its type: %.100s", path, field.Name, raw)
		}
		if err := wholeOf(value.Field(i), path+"."+field.Name); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	caller := kit.For("openai-go", "github.com/openai/openai-go/v3")
	client := connect(kit.Key)
	callChat(caller, client)
	callResponses(caller, client)
	callImages(caller, client)
	callRest(caller, client)
	callErrors(caller)
}

var schema = map[string]any{
	"type": "object",
	"properties": map[string]any{
		"name": map[string]any{"type": "string"},
		"kind": map[string]any{"type": "string", "enum": []string{"soup", "cake"}},
		"part": map[string]any{"$ref": "#/$defs/part"},
	},
	"required":             []string{"name", "kind", "part"},
	"additionalProperties": false,
	"$defs": map[string]any{"part": map[string]any{
		"type":       "object",
		"properties": map[string]any{"minutes": map[string]any{"type": "integer", "minimum": 5}},
		"required":   []string{"minutes"},
	}},
}

type recipe struct {
	Name, Kind string
	Part       struct{ Minutes int }
}

func isRecipe(text string) error {
	var found recipe
	err := json.Unmarshal([]byte(text), &found)
	return kit.First(err, kit.Same(found.Kind, "soup"), kit.Same(found.Part.Minutes, 5))
}

func callChat(caller kit.Caller, client openai.Client) {
	caller.Call("chat", func() error {
		answer, err := client.Chat.Completions.New(ctx, say(kit.Prompt))
		if err != nil {
			return err
		}
		return kit.First(kit.Same(answer.Choices[0].Message.Content, kit.Said), kit.Same(answer.Usage.TotalTokens, 9), whole(answer))
	})
	for _, usage := range []bool{false, true} {
		caller.Call(fmt.Sprintf("chat, streamed, usage asked for: %v", usage), func() error {
			order := say(kit.Prompt)
			if usage {
				order.StreamOptions.IncludeUsage = openai.Bool(true)
			}
			stream := client.Chat.Completions.NewStreaming(ctx, order)
			all := openai.ChatCompletionAccumulator{}
			for stream.Next() {
				chunk := stream.Current()
				if err := whole(chunk); err != nil {
					return err
				}
				if !all.AddChunk(chunk) {
					return errors.New("a chunk does not fit those before it")
				}
			}
			return kit.First(stream.Err(), kit.Same(all.Choices[0].Message.Content, kit.Said), kit.Same(all.Usage.TotalTokens == 9, usage))
		})
	}
	caller.Call("chat with a tool", func() error {
		order := say("look_up Rome")
		order.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "look_up", Parameters: schema})}
		answer, err := client.Chat.Completions.New(ctx, order)
		if err != nil {
			return err
		}
		call := answer.Choices[0].Message.ToolCalls[0].Function
		return kit.First(kit.Same(call.Name, "look_up"), isRecipe(call.Arguments), whole(answer))
	})
	caller.Call("chat, response_format json_schema", func() error {
		order := say(kit.Prompt)
		order.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "recipe", Schema: schema, Strict: openai.Bool(true)},
		}
		answer, err := client.Chat.Completions.New(ctx, order)
		if err != nil {
			return err
		}
		return isRecipe(answer.Choices[0].Message.Content)
	})
	caller.Call("chat, response_format json_object", func() error {
		order := say(kit.Prompt)
		order.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		answer, err := client.Chat.Completions.New(ctx, order)
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(answer.Choices[0].Message.Content), &map[string]any{})
	})
}

func callResponses(caller kit.Caller, client openai.Client) {
	order := responses.ResponseNewParams{
		Model: "sim-chat",
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(kit.Prompt)},
	}
	caller.Call("responses", func() error {
		answer, err := client.Responses.New(ctx, order)
		if err != nil {
			return err
		}
		return kit.First(kit.Same(answer.OutputText(), kit.Said), whole(answer))
	})
	caller.Call("responses, streamed", func() error {
		stream := client.Responses.NewStreaming(ctx, order)
		last := ""
		for stream.Next() {
			last = stream.Current().Type
		}
		return kit.First(stream.Err(), kit.Same(last, "response.completed"))
	})
	caller.Call("responses, text.format json_schema", func() error {
		order.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "recipe", Schema: schema, Strict: openai.Bool(true)}
		answer, err := client.Responses.New(ctx, order)
		if err != nil {
			return err
		}
		return isRecipe(answer.OutputText())
	})
}

func isImage(answer *openai.ImagesResponse, err error, count int) error {
	if err != nil {
		return err
	}
	for _, one := range answer.Data {
		bytes, err := base64.StdEncoding.DecodeString(one.B64JSON)
		if err != nil || (len(bytes) == 0 && one.URL == "") {
			return fmt.Errorf("neither bytes nor a link: %w", err)
		}
	}
	return kit.First(kit.Same(len(answer.Data), count), whole(answer), known(answer))
}

// known returns an error when a value is not one that the type lists.
func known(answer *openai.ImagesResponse) error {
	switch answer.Quality {
	case "", "low", "medium", "high", "xhigh", "max":
	default:
		return fmt.Errorf("quality %q is none of the type's", answer.Quality)
	}
	switch answer.Background {
	case "", "transparent", "opaque":
		return nil
	}
	return fmt.Errorf("background %q is none of the type's", answer.Background)
}

func callImages(caller kit.Caller, client openai.Client) {
	for _, model := range []string{"alpha-image-2", "beta-imagine-image"} {
		for _, format := range []openai.ImageGenerateParamsResponseFormat{"", "url", "b64_json"} {
			caller.Call(fmt.Sprintf("images, %s, response_format %q", model, format), func() error {
				order := openai.ImageGenerateParams{Model: model, Prompt: kit.Prompt, N: openai.Int(2), Size: "1024x1024", ResponseFormat: format}
				answer, err := client.Images.Generate(ctx, order)
				return isImage(answer, err, 2)
			})
		}
		caller.Call("images, "+model+", every field", func() error {
			answer, err := client.Images.Generate(ctx, openai.ImageGenerateParams{
				Model: model, Prompt: kit.Prompt, Size: "1536x1024", Quality: "high", Background: "opaque", Moderation: "low",
				OutputFormat: "webp", OutputCompression: openai.Int(80), User: openai.String("user-1"), Style: "vivid",
			})
			return isImage(answer, err, 1)
		})
		caller.Call("image edit, "+model+", a file", func() error {
			return edit(client, openai.ImageEditParams{Model: model, Prompt: kit.Prompt}, 1, false)
		})
		caller.Call("image edit, "+model+", two files and a mask", func() error {
			order := openai.ImageEditParams{Model: model, Prompt: kit.Prompt, N: openai.Int(1), Quality: "high", Size: "1024x1024"}
			return edit(client, order, 2, true)
		})
		caller.Call("image edit, "+model+", a reader without a name", func() error {
			bytes, err := os.ReadFile(kit.Picture)
			if err != nil {
				return err
			}
			order := openai.ImageEditParams{Model: model, Prompt: kit.Prompt}
			order.Image.OfFile = strings.NewReader(string(bytes))
			answer, err := client.Images.Edit(ctx, order)
			return isImage(answer, err, 1)
		})
	}
	caller.Call("images, alpha-image-2, streamed", func() error {
		stream := client.Images.GenerateStreaming(ctx, openai.ImageGenerateParams{Model: "alpha-image-2", Prompt: kit.Prompt, PartialImages: openai.Int(1)})
		kinds := []string{}
		for stream.Next() {
			kinds = append(kinds, stream.Current().Type)
		}
		return kit.First(stream.Err(), kit.Same(strings.Join(kinds, " "), "image_generation.partial_image image_generation.completed"))
	})
	caller.Call("image edit, alpha-image-2, streamed", func() error {
		picture, err := os.Open(kit.Picture)
		if err != nil {
			return err
		}
		defer picture.Close()
		order := openai.ImageEditParams{Model: "alpha-image-2", Prompt: kit.Prompt}
		order.Image.OfFile = picture
		stream := client.Images.EditStreaming(ctx, order)
		last := ""
		for stream.Next() {
			last = stream.Current().Type
		}
		return kit.First(stream.Err(), kit.Same(last, "image_edit.completed"))
	})
}

func edit(client openai.Client, order openai.ImageEditParams, count int, masked bool) error {
	files := []io.Reader{}
	for range count {
		picture, err := os.Open(kit.Picture)
		if err != nil {
			return err
		}
		defer picture.Close()
		files = append(files, openai.File(picture, "picture.png", "image/png"))
	}
	if order.Image.OfFile = files[0]; count > 1 {
		order.Image.OfFile, order.Image.OfFileArray = nil, files
	}
	if masked {
		mask, err := os.Open(kit.Mask)
		if err != nil {
			return err
		}
		defer mask.Close()
		order.Mask = mask
	}
	answer, err := client.Images.Edit(ctx, order)
	return isImage(answer, err, 1)
}

func callRest(caller kit.Caller, client openai.Client) {
	caller.Call("embeddings", func() error {
		order := openai.EmbeddingNewParams{Model: "sim-embedding", Dimensions: openai.Int(40)}
		order.Input.OfArrayOfStrings = []string{kit.Prompt, "winter"}
		answer, err := client.Embeddings.New(ctx, order)
		if err != nil {
			return err
		}
		return kit.First(kit.Same(len(answer.Data[1].Embedding), 40), whole(answer))
	})
	caller.Call("speech", func() error {
		order := openai.AudioSpeechNewParams{Model: "sim-speech", Input: kit.Prompt, ResponseFormat: "wav"}
		order.Voice.OfString = openai.String("alloy")
		answer, err := client.Audio.Speech.New(ctx, order)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		sound, err := io.ReadAll(answer.Body)
		return kit.First(err, kit.Same(string(sound[:4]), "RIFF"))
	})
	transcription := func(format openai.AudioResponseFormat) (openai.AudioTranscriptionNewParams, error) {
		sound, err := os.Open(kit.Sound)
		return openai.AudioTranscriptionNewParams{Model: "sim-transcription", File: sound, ResponseFormat: format}, err
	}
	for _, format := range []openai.AudioResponseFormat{"", "verbose_json"} {
		caller.Call(fmt.Sprintf("transcription, %q", format), func() error {
			order, err := transcription(format)
			if err != nil {
				return err
			}
			answer, err := client.Audio.Transcriptions.New(ctx, order)
			return kit.First(err, kit.Same(strings.HasPrefix(answer.Text, "simulated transcript"), true))
		})
	}
	caller.Call("transcription, streamed", func() error {
		order, err := transcription("")
		if err != nil {
			return err
		}
		stream := client.Audio.Transcriptions.NewStreaming(ctx, order)
		last := ""
		for stream.Next() {
			last = stream.Current().Type
		}
		return kit.First(stream.Err(), kit.Same(last, "transcript.text.done"))
	})
	caller.Call("models, list", func() error {
		answer, err := client.Models.List(ctx)
		if err != nil {
			return err
		}
		return kit.First(kit.Same(len(answer.Data) > 5, true), whole(answer.Data))
	})
	caller.Call("models, get", func() error {
		answer, err := client.Models.Get(ctx, "sim-chat")
		if err != nil {
			return err
		}
		return kit.First(kit.Same(answer.ID, "sim-chat"), whole(answer))
	})
}

func callErrors(caller kit.Caller) {
	for _, one := range []struct {
		name, key, text, model string
		status                 int
		code                   string
	}{
		{"401", "sk-none", kit.Prompt, "sim-chat", 401, "invalid_api_key"},
		{"404 of a model", kit.Key, kit.Prompt, "none", 404, "model_not_found"},
		{"429 with Retry-After", kit.Spent, kit.Prompt, "sim-chat", 429, "rate_limit_exceeded"},
		{"400", kit.Key, "[[status 400]]", "sim-chat", 400, "invalid_value"},
	} {
		caller.Call(one.name, func() error {
			order := say(one.text)
			order.Model = one.model
			client := connect(one.key)
			_, err := client.Chat.Completions.New(ctx, order)
			var found *openai.Error
			if !errors.As(err, &found) {
				return fmt.Errorf("not an Error: %w", err)
			}
			told := one.status != 429 || found.Response.Header.Get("retry-after") != ""
			return kit.First(kit.Same(found.StatusCode, one.status), kit.Same(found.Code, one.code), kit.Same(told, true))
		})
	}
	caller.Call("a stream that goes wrong", func() error {
		client := connect(kit.Key)
		stream := client.Chat.Completions.NewStreaming(ctx, say("a boat [[error-event]]"))
		for stream.Next() {
		}
		return kit.Same(stream.Err() != nil, true)
	})
}
