#include "apps/portrait/remove_api.h"

namespace oriel::portrait {

std::string openapi_text() {
  return R"({
 "openapi": "3.0.3",
 "info": {"title": "oriel-portrait", "version": "1", "description": "Cuts people out of pictures and puts them before another background."},
 "paths": {
  "/api/remove": {"post": {
   "summary": "One picture, cut out",
   "parameters": [
    {"name": "om", "in": "query", "description": "the mask alone", "schema": {"type": "boolean", "default": false}},
    {"name": "bgc", "in": "query", "description": "colour behind: R,G,B,A from 0 to 255, A 0 or 255", "schema": {"type": "string"}},
    {"name": "a", "in": "query", "description": "take af, ab and ae", "schema": {"type": "boolean", "default": false}},
    {"name": "af", "in": "query", "description": "mask values from this on are the person", "schema": {"type": "integer", "minimum": 0, "maximum": 255, "default": 240}},
    {"name": "ab", "in": "query", "description": "mask values up to this are background", "schema": {"type": "integer", "minimum": 0, "maximum": 255, "default": 10}},
    {"name": "ae", "in": "query", "description": "pixels on both sides of an edge that are looked at", "schema": {"type": "integer", "minimum": 0, "maximum": 255, "default": 10}},
    {"name": "ppm", "in": "query", "description": "clean the mask; it always is", "schema": {"type": "boolean"}},
    {"name": "model", "in": "query", "description": "one of /api/models", "schema": {"type": "string"}},
    {"name": "background", "in": "query", "description": "transparent, a colour, blur, blur:RADIUS, gradient:COLOUR,COLOUR,DEGREES", "schema": {"type": "string", "default": "transparent"}},
    {"name": "fit", "in": "query", "description": "of background_file", "schema": {"type": "string", "enum": ["cover", "contain"]}},
    {"name": "fill", "in": "query", "description": "colour around a contained picture", "schema": {"type": "string"}},
    {"name": "feather", "in": "query", "description": "pixels over which edges are softened", "schema": {"type": "integer", "minimum": 0, "maximum": 1000}},
    {"name": "linear_light", "in": "query", "schema": {"type": "boolean"}},
    {"name": "light_wrap", "in": "query", "description": "percent of the new background's light on the person's edge", "schema": {"type": "integer", "minimum": 0, "maximum": 100, "default": 0}},
    {"name": "no_person", "in": "query", "schema": {"type": "string", "enum": ["fail", "background", "keep"], "default": "fail"}},
    {"name": "format", "in": "query", "schema": {"type": "string", "enum": ["png", "jpg", "webp", "tif"], "default": "png"}}
   ],
   "requestBody": {"required": true, "content": {
    "multipart/form-data": {"schema": {"type": "object", "required": ["file"], "properties": {
     "file": {"type": "string", "format": "binary"}, "background_file": {"type": "string", "format": "binary"}}}},
    "image/*": {"schema": {"type": "string", "format": "binary"}}}},
   "responses": {
    "200": {"description": "the picture", "content": {"image/png": {}, "image/jpeg": {}, "image/webp": {}, "image/tiff": {}}},
    "400": {"description": "a parameter or the picture is wrong"},
    "403": {"description": "asked for under a name that the server does not answer to, or by a page of another site"},
    "408": {"description": "it came too slowly"},
    "411": {"description": "the length was not said"},
    "413": {"description": "larger than the server takes"},
    "422": {"description": "no person found"},
    "431": {"description": "its headers are too large"},
    "503": {"description": "there is not enough memory for it"}}}},
  "/api/health": {"get": {"summary": "Whether it works", "responses": {"200": {"description": "it does"}}}},
  "/api/models": {"get": {"summary": "Models that there are", "responses": {"200": {"description": "their names"}}}},
  "/api/openapi.json": {"get": {"summary": "This text", "responses": {"200": {"description": "OpenAPI"}}}}
 }
}
)";
}

}  // namespace oriel::portrait
