// The largest of each 2x2 of a picture of 4x6, where it was, and the gradient that goes back there.
package main

import (
	"fmt"
	"log"

	"oriel"
)

func main() {
	problem, err := oriel.Parse("max:f32:4x6:k2")
	if err != nil {
		log.Fatal(err)
	}
	x := make([]float32, problem.Len())
	for i := range x {
		x[i] = float32(i * 7 % 24)
	}
	y, indices := make([]float32, problem.OutputLen()), make([]int64, problem.OutputLen())
	if err := oriel.ForwardIndices(problem, x, y, indices, oriel.Plane); err != nil {
		log.Fatal(err)
	}
	fmt.Println(problem, problem.Shape(), "->", problem.OutputShape())
	fmt.Println(y, "at", indices)

	dx := make([]float32, problem.Len())
	if err := oriel.BackwardIndices(problem, y, indices, oriel.Plane, dx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(dx[:6])
	_, err = oriel.Parse("max:f32:4x6:k9")
	fmt.Println(err)
}
