// github.com/sashabaranov/go-openai through the gateway.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	openai "github.com/sashabaranov/go-openai"
	"github.com/sashabaranov/go-openai/jsonschema"

	"clients/kit"
)

var ctx = context.Background()

func connect(key string) *openai.Client {
	config := openai.DefaultConfig(key)
	config.BaseURL = kit.URL + "/v1"
	return openai.NewClientWithConfig(config)
}

func say(text string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model:    "sim-chat",
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: text}},
	}
}

func main() {
	caller := kit.For("go-openai", "github.com/sashabaranov/go-openai")
	client := connect(kit.Key)
	callChat(caller, client)
	callResponses(caller, client)
	callImages(caller, client)
	callRest(caller, client)
	callErrors(caller)
}

type recipe struct {
	Name    string   `json:"name" required:"true"`
	Minutes int      `json:"minutes" required:"true"`
	Steps   []string `json:"steps" required:"true"`
}

func callChat(caller kit.Caller, client *openai.Client) {
	caller.Call("chat", func() error {
		answer, err := client.CreateChatCompletion(ctx, say(kit.Prompt))
		if err != nil {
			return err
		}
		return kit.First(kit.Same(answer.Choices[0].Message.Content, kit.Said), kit.Same(answer.Usage.TotalTokens, 9))
	})
	for _, usage := range []bool{false, true} {
		caller.Call(fmt.Sprintf("chat, streamed, usage asked for: %v", usage), func() error {
			order := say(kit.Prompt)
			if usage {
				order.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
			}
			stream, err := client.CreateChatCompletionStream(ctx, order)
			if err != nil {
				return err
			}
			defer stream.Close()
			text, tokens := "", 0
			for {
				chunk, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					return err
				}
				for _, choice := range chunk.Choices {
					text += choice.Delta.Content
				}
				if chunk.Usage != nil {
					tokens = chunk.Usage.TotalTokens
				}
			}
			return kit.First(kit.Same(text, kit.Said), kit.Same(tokens == 9, usage))
		})
	}
	caller.Call("chat with a tool", func() error {
		order := say("look_up Rome")
		schema, err := jsonschema.GenerateSchemaForType(recipe{})
		if err != nil {
			return err
		}
		order.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: "look_up", Parameters: schema}}}
		answer, err := client.CreateChatCompletion(ctx, order)
		if err != nil {
			return err
		}
		var found recipe
		call := answer.Choices[0].Message.ToolCalls[0].Function
		return kit.First(kit.Same(call.Name, "look_up"), schema.Unmarshal(call.Arguments, &found))
	})
	caller.Call("chat, response_format json_schema", func() error {
		order := say(kit.Prompt)
		schema, err := jsonschema.GenerateSchemaForType(recipe{})
		if err != nil {
			return err
		}
		order.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "recipe", Schema: schema, Strict: true},
		}
		answer, err := client.CreateChatCompletion(ctx, order)
		if err != nil {
			return err
		}
		var found recipe
		return schema.Unmarshal(answer.Choices[0].Message.Content, &found)
	})
	caller.Call("chat, response_format json_object", func() error {
		order := say(kit.Prompt)
		order.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
		answer, err := client.CreateChatCompletion(ctx, order)
		if err != nil {
			return err
		}
		var found map[string]any
		return json.Unmarshal([]byte(answer.Choices[0].Message.Content), &found)
	})
}

func callResponses(caller kit.Caller, client *openai.Client) {
	order := openai.CreateResponseRequest{Model: "sim-chat", Input: kit.Prompt}
	caller.Call("responses", func() error {
		answer, err := client.CreateResponse(ctx, order)
		if err != nil {
			return err
		}
		return kit.Same(answer.GetOutputText(), kit.Said)
	})
	caller.Call("responses, streamed", func() error {
		stream, err := client.CreateResponseStream(ctx, order)
		if err != nil {
			return err
		}
		defer stream.Close()
		last := ""
		for {
			event, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			last = string(event.Type)
		}
		return kit.Same(last, "response.completed")
	})
}

func isImage(answer openai.ImageResponse, count int) error {
	if err := kit.Same(len(answer.Data), count); err != nil {
		return err
	}
	for _, one := range answer.Data {
		if _, err := base64.StdEncoding.DecodeString(one.B64JSON); err != nil {
			return err
		}
		if one.B64JSON == "" && !strings.HasPrefix(one.URL, "http") && !strings.HasPrefix(one.URL, "data:") {
			return fmt.Errorf("neither bytes nor a link: %.80s", one.URL)
		}
	}
	return nil
}

func callImages(caller kit.Caller, client *openai.Client) {
	for _, model := range []string{"alpha-image-2", "beta-imagine-image"} {
		for _, format := range []string{"", openai.CreateImageResponseFormatURL, openai.CreateImageResponseFormatB64JSON} {
			caller.Call(fmt.Sprintf("images, %s, response_format %q", model, format), func() error {
				answer, err := client.CreateImage(ctx, openai.ImageRequest{
					Model: model, Prompt: kit.Prompt, N: 2, Size: openai.CreateImageSize1024x1024, ResponseFormat: format,
				})
				return kit.First(err, isImage(answer, 2))
			})
		}
		caller.Call("images, "+model+", every field", func() error {
			answer, err := client.CreateImage(ctx, openai.ImageRequest{
				Model: model, Prompt: kit.Prompt, Size: openai.CreateImageSize1536x1024,
				Quality: openai.CreateImageQualityHigh, Background: openai.CreateImageBackgroundOpaque,
				Moderation: openai.CreateImageModerationLow, OutputFormat: openai.CreateImageOutputFormatJPEG,
				OutputCompression: 80, User: "user-1",
			})
			return kit.First(err, isImage(answer, 1))
		})
		for _, masked := range []bool{false, true} {
			// Unset fields are sent all the same: `n=0`, and `size` and `response_format` without a value.
			caller.Call(fmt.Sprintf("image edit, %s, masked: %v", model, masked), func() error {
				return edit(client, openai.ImageEditRequest{Model: model, Prompt: kit.Prompt}, masked)
			})
			caller.Call(fmt.Sprintf("image edit, %s, masked: %v, every field", model, masked), func() error {
				return edit(client, openai.ImageEditRequest{
					Model: model, Prompt: kit.Prompt, N: 1, Size: "1024x1024", ResponseFormat: "url", Quality: "high", User: "user-1",
				}, masked)
			})
		}
	}
}

func edit(client *openai.Client, order openai.ImageEditRequest, masked bool) error {
	picture, err := os.Open(kit.Picture)
	if err != nil {
		return err
	}
	defer picture.Close()
	order.Image = picture
	if masked {
		mask, err := os.Open(kit.Mask)
		if err != nil {
			return err
		}
		defer mask.Close()
		order.Mask = mask
	}
	answer, err := client.CreateEditImage(ctx, order)
	return kit.First(err, isImage(answer, 1))
}

func callRest(caller kit.Caller, client *openai.Client) {
	for _, format := range []openai.EmbeddingEncodingFormat{"", openai.EmbeddingEncodingFormatBase64} {
		caller.Call(fmt.Sprintf("embeddings, encoding_format %q", format), func() error {
			order := openai.EmbeddingRequestStrings{Model: "sim-embedding", Input: []string{kit.Prompt, "winter"}, EncodingFormat: format}
			answer, err := client.CreateEmbeddings(ctx, order)
			return kit.First(err, kit.Same(len(answer.Data), 2))
		})
	}
	caller.Call("speech", func() error {
		answer, err := client.CreateSpeech(ctx, openai.CreateSpeechRequest{
			Model: "sim-speech", Input: kit.Prompt, Voice: openai.VoiceAlloy, ResponseFormat: openai.SpeechResponseFormatWav,
		})
		if err != nil {
			return err
		}
		defer answer.Close()
		sound, err := io.ReadAll(answer)
		return kit.First(err, kit.Same(string(sound[:4]), "RIFF"))
	})
	for _, format := range []openai.AudioResponseFormat{"", openai.AudioResponseFormatVerboseJSON, openai.AudioResponseFormatText, openai.AudioResponseFormatSRT, openai.AudioResponseFormatVTT} {
		caller.Call(fmt.Sprintf("transcription, %q", format), func() error {
			answer, err := client.CreateTranscription(ctx, openai.AudioRequest{Model: "sim-transcription", FilePath: kit.Sound, Format: format})
			return kit.First(err, kit.Same(strings.Contains(answer.Text, "simulated transcript"), true))
		})
	}
	caller.Call("models, list", func() error {
		answer, err := client.ListModels(ctx)
		return kit.First(err, kit.Same(len(answer.Models) > 5, true))
	})
	caller.Call("models, get", func() error {
		answer, err := client.GetModel(ctx, "sim-chat")
		return kit.First(err, kit.Same(answer.ID, "sim-chat"))
	})
}

func callErrors(caller kit.Caller) {
	for _, one := range []struct {
		name, key string
		order     openai.ChatCompletionRequest
		status    int
		code      string
	}{
		{"401", "sk-none", say(kit.Prompt), 401, "invalid_api_key"},
		{"404 of a model", kit.Key, openai.ChatCompletionRequest{Model: "none", Messages: say("a").Messages}, 404, "model_not_found"},
		{"429", kit.Spent, say(kit.Prompt), 429, "rate_limit_exceeded"},
		{"400 with a param", kit.Key, openai.ChatCompletionRequest{Model: "sim-chat"}, 400, "missing_required_parameter"},
	} {
		caller.Call(one.name, func() error {
			_, err := connect(one.key).CreateChatCompletion(ctx, one.order)
			var found *openai.APIError
			if !errors.As(err, &found) {
				return fmt.Errorf("not an APIError: %w", err)
			}
			return kit.First(kit.Same(found.HTTPStatusCode, one.status), kit.Same(fmt.Sprint(found.Code), one.code))
		})
	}
	caller.Call("a stream that goes wrong", func() error {
		stream, err := connect(kit.Key).CreateChatCompletionStream(ctx, say("a boat [[error-event]]"))
		if err != nil {
			return err
		}
		defer stream.Close()
		for {
			if _, err := stream.Recv(); err != nil {
				return kit.Same(errors.Is(err, io.EOF), false)
			}
		}
	})
}
